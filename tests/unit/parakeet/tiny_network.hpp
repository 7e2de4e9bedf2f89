// Configurations of Parakeet networks of a few thousand weights, and devices to run them on.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "models/parakeet/random_network.hpp"
#include "support.hpp"
#include "support/patience.hpp"

namespace backplane::parakeet {

inline Config tiny_config() {
    Config config;
    config.name = "tiny";
    EncoderConfig& e = config.encoder;
    e.mels = 20;
    e.d_model = 32;
    e.layers = 2;
    e.heads = 2;
    e.ff_dim = 64;
    e.conv_kernel = 5;
    e.subsampling_factor = 8;
    e.subsampling_channels = 8;
    e.xscaling = true;
    config.vocab_size = 11;
    config.blank_id = 11;
    config.ctc = true;
    return config;
}

inline Config tiny_transducer(std::vector<int64_t> durations) {
    Config config = tiny_config();
    TransducerConfig t;
    t.pred_hidden = 24;
    t.pred_layers = 2;
    t.joint_hidden = 28;
    t.durations = std::move(durations);
    t.max_symbols = 3;
    config.transducer = t;
    return config;
}

inline Device device_of(const char* filter) {
    ContextOptions options = test::patient();
    options.module_paths = {std::string(BP_TEST_BINARY_DIR) + "/lib/backplane"};
    options.search_defaults = options.use_environment = false;
    options.options = {{"cpu.threads", "2"}};
    return Context(options).choose(filter);
}

}  // namespace backplane::parakeet
