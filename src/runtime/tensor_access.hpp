// Tensors of the public API from bytes of the plan layer, and back.
#pragma once

#include "backplane/tensor.hpp"
#include "plan/executor.hpp"

namespace backplane {

struct TensorAccess {
    static Tensor make(plan::Located at, DType dtype, Shape shape);
    static plan::Located at(const Tensor& tensor);
};

}  // namespace backplane
