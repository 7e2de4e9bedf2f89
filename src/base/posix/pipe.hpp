// A pipe whose ends no other program inherits by accident.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/posix/process_calls.hpp"

namespace backplane::base {

class Pipe {
public:
    // By two sockets descriptors can be passed, from either end; a pipe takes their place where there are none.
    enum class Kind { pipe, sockets };

    // Ends below 4 would be in the way of the streams and the record that a child is given: a host may have closed its own.
    explicit Pipe(Kind kind = Kind::pipe) {
        constexpr int kFirstOfOurs = 4;
        std::array<int, 2> ends{-1, -1};
        if (!(kind == Kind::sockets && open_sockets(ends)) && !open_pipe(ends)) {
            error_ = errno;
            return;
        }
        for (int& end : ends) {
            if (end >= kFirstOfOurs) continue;
            const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, kFirstOfOurs);
            if (moved < 0) error_ = errno;
            ::close(std::exchange(end, moved));
        }
        read_ = ends[0];
        write_ = ends[1];
        if (error_ == 0) ::fcntl(read_, F_SETFL, O_NONBLOCK);
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int error() const { return error_; }  // 0: it is open
    [[nodiscard]] int reading() const { return read_; }
    [[nodiscard]] int writing() const { return write_; }
    void close_read() { close_end(read_); }
    void close_write() { close_end(write_); }

    // What is there, at most a block; closes at the end.
    std::string drain() {
        std::array<char, 4096> block{};
        ssize_t n = 0;
        while ((n = ::read(read_, block.data(), block.size())) < 0 && errno == EINTR) {
        }
        if (n < 0 && errno == EAGAIN) return {};
        if (n <= 0) return close_read(), std::string();
        return {block.data(), static_cast<size_t>(n)};
    }

private:
    static void close_end(int& end) {
        if (end >= 0) ::close(end);
        end = -1;
    }
    int read_ = -1, write_ = -1, error_ = 0;
};

// False: nobody reads it.
inline bool write_all(int to, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(to, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

}  // namespace backplane::base
