// A Graph from plain data of the module ABI: the inverse of Graph::data().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::graph {

// Builds a Graph with the same tensor indices. Trusts nothing: ranges, roles, attributes and the order of nodes are
// checked, and every stated shape and dtype must be the one its op's rule gives. `symbols` holds one value per symbol
// of the graph, each within its bounds; empty: none given, and a symbolic dimension takes its symbol's most. The graph
// may go afterwards. Throws Error: unsupported (an op, attribute or dtype of a later version), invalid (everything
// else), its text naming the node.
Graph graph_from_abi(const bp_graph* graph, std::span<const int64_t> symbols = {});

// The first part of these checks: every array has memory, every index is in range, every symbol has sensible bounds.
void check_ranges(const bp_graph* graph);

// The same checks for one node, by itself. graph_from_abi's throws, for this node.
void check_node_from_abi(const bp_graph* graph, uint32_t node, std::span<const int64_t> symbols = {});

// Why a module should refuse a node: BP_WHY_OP, _ATTRIBUTE, _DTYPE for what this version does not know, _SHAPE for a
// broken rule,
// BP_WHY_NONE for a good node. Throws Error(invalid) as check_ranges does, and for a node that is not there.
uint32_t why_not(const bp_graph* graph, uint32_t node, std::span<const int64_t> symbols = {});

// The same for all nodes in one pass: query() of a module.
std::vector<uint32_t> why_not(const bp_graph* graph, std::span<const int64_t> symbols = {});

}  // namespace backplane::graph
