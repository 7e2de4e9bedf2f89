// The files that a command is to work on: named one by one, by their folders, or in a list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::batch {

struct Input {
    std::string name;  // as it was given, UTF-8; "-": the input stream
    double work = 0;   // what its list says, in the unit of the command; 0: nothing
};

struct Kind {
    std::span<const std::string_view> endings;  // with the point, in lower case
    std::string what;                           // "audio", for messages
    std::string for_example;                    // "WAV, FLAC, Ogg, Opus or MP3"
};

// Of folders the files in them by their names' endings, sorted; folders in those are not looked into. Throws Error: denied (a folder that
// cannot be read), not_found (one without such a file, where nothing else is named; else it is an input itself, which cannot be read).
std::vector<Input> named_inputs(const std::vector<std::string>& names, const Kind& kind);

// A list of files, one a line: a path, or JSON with "audio_filepath" or "file" and, if it likes, "duration" (manifests of NeMo), relative to
// the folder of the list ("-": the input stream, this folder). Empty lines and those that begin with '#' are left out. Throws Error: not_found,
// denied, corrupt (which line), invalid (longer than 1 GiB).
std::vector<Input> listed_inputs(const std::string& list);

bool is_folder(const std::string& name);

}  // namespace backplane::batch
