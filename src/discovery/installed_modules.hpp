// Where this build's module files are installed. Alone in its source: `cmake --install --prefix` compiles that one anew.
#pragma once

namespace backplane::discovery {

// The folder, as it was configured, or as the static library that this is part of was installed; UTF-8, lives as long as the process.
const char* installed_modules() noexcept;

}  // namespace backplane::discovery
