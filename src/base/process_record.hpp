// A record of lines that only those can write who know a secret; for the two sides of process.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace backplane::base {

inline constexpr int kRecordStream = 3;      // the descriptor
inline constexpr size_t kSecretLength = 32;  // hexadecimal digits
inline constexpr size_t kMostRecord = size_t{64} * 1024;
inline constexpr size_t kMostOutput = size_t{4} * 1024;

std::string make_secret();
bool is_secret(std::string_view text) noexcept;

// Takes bytes as they come and gives the lines that begin with the secret, without it. All else is dropped, whatever its length.
class RecordReader {
public:
    explicit RecordReader(std::string secret) : secret_(std::move(secret)) {}
    // Whole lines, each with its line end, at most kMostRecord bytes in all calls together.
    [[nodiscard]] std::string take(std::string_view bytes);

private:
    std::string secret_, line_;
    size_t given_ = 0;
    bool too_long_ = false;
};

// Each line of `text` with the secret before it.
std::string signed_lines(std::string_view secret, std::string_view text);

// Keeps the secret of this process for write_record(), not as it is: what searches memory for it does not find it. Once, before threads.
void keep_secret(std::string_view secret) noexcept;
std::string kept_secret();  // empty: none was given

// What a supervisor says last: how the other half ended. Never to be confused with a line of that half: those begin with "said ".
inline constexpr std::string_view kSaid = "said ";
inline constexpr std::string_view kWorker = "worker ";  // the group of the other half
inline constexpr std::string_view kExited = "exited ";
inline constexpr std::string_view kSignalled = "signalled ";
inline constexpr std::string_view kProblem = "problem ";  // there was no process to be had
inline constexpr std::string_view kLeft = "left processes";
inline constexpr std::string_view kHeld = "held";  // the host, which stood still

}  // namespace backplane::base
