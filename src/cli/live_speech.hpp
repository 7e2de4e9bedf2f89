// transcribe --live: speech from the input stream, lines as they come.
#pragma once

#include "backplane/transcriber.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

// PCM of the network's rate, one channel, 16 bit, little-endian; the header of a WAV file of such samples is passed over. Throws Error(invalid) for a WAV
// file of others, for what is known to be no PCM and where nothing comes, and Error(cancelled) after a signal, once the line that it came into is ended.
void transcribe_live(Run& run, Transcriber& transcriber);

}  // namespace backplane::cli
