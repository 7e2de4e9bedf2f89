// ONNX's own tests (Debian's libonnx-testdata): of its operators, a model of one node or of the nodes that it stands for, and small networks, with inputs
// and outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/onnx/convert.hpp"

namespace backplane::test {

struct NodeCase {
    std::string folder;    // of the package: "node", "pytorch-converted", ...
    std::string name, op;  // "add_bcast", "Add"; "several operators"
    std::string left_out;  // why; empty: it runs
    Graph graph;
    std::map<std::string, formats::OnnxTensor> inputs, outputs;
    double written_to =
        0;  // how far ONNX's results may be off: half a unit of the last digit where there are few of them, few digits of pi
};

// Where the package is; empty: it is not installed.
std::string node_cases_folder();

// All of them by folder and name, read and converted once.
const std::vector<NodeCase>& node_cases();

// How far the results of a type may be from ONNX's: |y - want| <= absolute + relative * |want|. Of others they are the same.
struct Tolerance {
    double absolute = 0, relative = 0;
};
Tolerance tolerance_of(DType dtype);

// What is wrong with a result of a test; empty: nothing. `further`: so much more may it be off.
std::string difference(const NodeCase& of, const TensorInfo& got, const std::vector<std::byte>& data, double further = 0);

}  // namespace backplane::test
