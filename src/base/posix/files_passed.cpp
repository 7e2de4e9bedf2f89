// unix(7): SCM_RIGHTS.
#include "base/posix/files_passed.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/posix/process_calls.hpp"
#include "base/process_record.hpp"

namespace backplane::base {

namespace {

int keeper = -1;  // of the one process there is; set before it has threads

// A message of one byte with descriptors beside it.
struct Message {
    explicit Message(size_t room) {
        text.iov_base = &byte;
        text.iov_len = 1;
        header.msg_iov = &text;
        header.msg_iovlen = 1;
        header.msg_control = beside.data();
        header.msg_controllen = static_cast<decltype(header.msg_controllen)>(room);
    }
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostKeptOpen * sizeof(int))> beside{};
    char byte = 0;
    iovec text{};
    msghdr header{};
};

std::vector<int> open_files_of(std::span<const std::string> paths) {
    constexpr int kLooked = 1024;
    std::vector<dev_t> devices;
    std::vector<int> found;
    struct stat status {};
    for (const std::string& path : paths)
        if (::stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode)) devices.push_back(status.st_rdev);
    for (int file = kRecordStream + 1; !devices.empty() && file < kLooked && found.size() < kMostKeptOpen; ++file)
        if (::fstat(file, &status) == 0 && S_ISCHR(status.st_mode) &&
            std::find(devices.begin(), devices.end(), status.st_rdev) != devices.end())
            found.push_back(file);
    return found;
}

}  // namespace

KeptOpen::~KeptOpen() {
    for (const int file : files_) ::close(file);
}

void keep_open(std::span<const std::string> paths) noexcept {
    if (keeper < 0) return;
    try {
        send_files(keeper, open_files_of(paths));
    } catch (const std::bad_alloc&) {  // they are closed with the process
    }
}

void keep_open_by(int socket) noexcept { keeper = socket; }

void send_files(int socket, std::span<const int> files) noexcept {
    if (files.empty() || files.size() > kMostKeptOpen) return;
    Message message(CMSG_SPACE(files.size_bytes()));
    cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = static_cast<decltype(rights->cmsg_len)>(CMSG_LEN(files.size_bytes()));
    std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
    while (::sendmsg(socket, &message.header, 0) < 0 && errno == EINTR) {
    }
}

SharedKeptOpen receive_files(int socket) {
    Message message(CMSG_SPACE(kMostKeptOpen * sizeof(int)));
    ssize_t n = 0;
    while ((n = ::recvmsg(socket, &message.header, MSG_DONTWAIT | kReceivedClosedInPrograms)) < 0 && errno == EINTR) {
    }
    if (n <= 0) return {};
    std::vector<int> files;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message.header); each != nullptr; each = CMSG_NXTHDR(&message.header, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        const size_t bytes = each->cmsg_len - CMSG_LEN(0);
        files.resize(bytes / sizeof(int));
        std::memcpy(files.data(), CMSG_DATA(each), files.size() * sizeof(int));
    }
    for (const int file : files) ::fcntl(file, F_SETFD, FD_CLOEXEC);
    return files.empty() ? nullptr : std::make_shared<const KeptOpen>(std::move(files));
}

}  // namespace backplane::base
