// Those that libjpeg wrote elsewhere.
#include <stdexcept>

#include "../kept_jpegs.hpp"
#include "../made_jpeg.hpp"

namespace backplane::test {

Bytes coded_jpeg(const JpegKind& kind, const Bytes& pixels) {
    static const KeptJpegs kept = read_kept_jpegs();
    const auto found = kept.find(key_of(kind, pixels));
    if (found == kept.end())
        throw std::runtime_error("this JPEG is not kept: run the test with BACKPLANE_WRITE=1 where libjpeg is");
    return found->second;
}

}  // namespace backplane::test
