// RRDBNet, the residual-in-residual dense network of ESRGAN (Wang et al., 2018) and Real-ESRGAN (Wang et al., 2021), by the names that its weights have
// in PyTorch.
#pragma once

#include "backplane/weight_file.hpp"
#include "models/esrgan/imported.hpp"

namespace backplane::esrgan {

// Three ways to name the same weights are known, each behind any prefix ("params_ema."):
//   conv_first, body.0.rdb1.conv1 .., conv_body, conv_up1, conv_up2, conv_hr, conv_last            Real-ESRGAN
//   conv_first, RRDB_trunk.0.RDB1.conv1 .., trunk_conv, upconv1, upconv2, HRconv, conv_last        ESRGAN
//   model.0, model.1.sub.0.RDB1.conv1.0 .., model.1.sub.23, model.3, model.6, model.8, model.10    its first release
// conv_first sees 3 channels, or 12 or 48 where pixels are unshuffled first, by 2 or 4. Throws Error: unsupported (no such names; a tensor that the network
// has no place for), corrupt (a tensor that is missing or of another shape than the others call for, numbers that are not finite).
ImportedNetwork rrdb_of(const WeightFile& file);

}  // namespace backplane::esrgan
