// Open descriptors on their way from one process to another, by a socket.
#pragma once

#include <span>

#include "base/kept_open.hpp"

namespace backplane::base {

// The socket by which keep_open() sends. Once, before threads; -1: there is none.
void keep_open_by(int socket) noexcept;

// They stay open here, too; a failure is as good as none sent.
void send_files(int socket, std::span<const int> files) noexcept;

// What has been sent, without waiting; null: nothing, or no socket.
SharedKeptOpen receive_files(int socket);

}  // namespace backplane::base
