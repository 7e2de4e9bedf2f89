// Microsoft: "Creating a Child Process with Redirected Input and Output", "Job Objects", "Parsing C Command-Line Arguments".
#include "base/process.hpp"

#include <io.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <cwctype>
#include <span>
#include <utility>

#include "base/process_record.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

using windows::Handle;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrain{50};  // what others that hold the pipes write is not waited for

constexpr DWORD kBlock = 1 << 14;  // read at a time
constexpr DWORD kRoom = 1 << 16;   // of a pipe: one that writes much is not held up by how often it is looked at

class Pipe {
public:
    Pipe() {
        SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
        HANDLE read = nullptr;
        HANDLE write = nullptr;
        if (::CreatePipe(&read, &write, &inherited, kRoom) == 0) return;
        read_.reset(read);
        write_.reset(write);
    }
    // The child is to inherit one end only.
    void keep_reading() { ::SetHandleInformation(read_.get(), HANDLE_FLAG_INHERIT, 0); }
    void keep_writing() { ::SetHandleInformation(write_.get(), HANDLE_FLAG_INHERIT, 0); }
    [[nodiscard]] bool open() const { return read_ != nullptr; }
    [[nodiscard]] HANDLE reading() const { return read_.get(); }
    [[nodiscard]] HANDLE writing() const { return write_.get(); }
    void close_read() { read_.reset(); }
    void close_write() { write_.reset(); }

    // What is there, at most a block; closes at the end.
    std::string drain() {
        std::array<char, kBlock> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
        DWORD there = 0;
        DWORD n = 0;
        if (!read_) return {};
        const bool alive = ::PeekNamedPipe(read_.get(), nullptr, 0, nullptr, &there, nullptr) != 0;
        if (alive && there == 0) return {};
        const DWORD wanted = std::min<DWORD>(there, block.size());
        if (!alive || ::ReadFile(read_.get(), block.data(), wanted, &n, nullptr) == 0 || n == 0) read_.reset();
        return {block.data(), n};
    }

private:
    Handle read_, write_;
};

// As the C runtime takes a command line apart again.
std::wstring quoted(const std::wstring& word) {
    if (!word.empty() && word.find_first_of(L" \t\n\v\"") == std::wstring::npos) return word;
    std::wstring out = L"\"";
    size_t backslashes = 0;
    for (const wchar_t c : word) {
        if (c == L'"') out.append(backslashes + 1, L'\\');
        backslashes = c == L'\\' ? backslashes + 1 : 0;
        out += c;
    }
    return out.append(backslashes, L'\\') + L"\"";
}

// What the C runtime of the child opens as descriptors 0 to 3: a count, flags, handles.
std::vector<BYTE> descriptors(const std::array<HANDLE, kRecordStream + 1>& handles) {
    constexpr BYTE kOpen = 0x01;
    const auto count = static_cast<int>(handles.size());
    std::vector<BYTE> block(sizeof count + handles.size() * (1 + sizeof(HANDLE)));
    std::memcpy(block.data(), &count, sizeof count);
    std::fill_n(block.begin() + sizeof count, handles.size(), kOpen);
    std::memcpy(block.data() + sizeof count + handles.size(), handles.data(), sizeof handles);
    return block;
}

// Which handles a child inherits; without it, whatever another thread has open to inherit.
class Inherited {
public:
    explicit Inherited(std::vector<HANDLE> handles) : handles_(std::move(handles)) {
        SIZE_T size = 0;
        ::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
        room_.resize(size);
        good_ = ::InitializeProcThreadAttributeList(list(), 1, 0, &size) != 0;
        if (good_)
            ::UpdateProcThreadAttribute(list(), 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(),
                                        handles_.size() * sizeof(HANDLE), nullptr, nullptr);
    }
    ~Inherited() {
        if (good_) ::DeleteProcThreadAttributeList(list());
    }
    Inherited(const Inherited&) = delete;
    Inherited& operator=(const Inherited&) = delete;
    LPPROC_THREAD_ATTRIBUTE_LIST list() { return reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(room_.data()); }

private:
    std::vector<HANDLE> handles_;
    std::vector<std::byte> room_;
    bool good_ = false;
};

// Whatever is in it ends when the last handle to it is closed, also by this process's own end.
Handle make_job() {
    Handle job(::CreateJobObjectW(nullptr, nullptr));
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
    if (job) ::SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation, &limits, sizeof limits);
    return job;
}

Handle start(const std::filesystem::path& program, const std::vector<std::string>& arguments, HANDLE job, const Pipe& input,
             const Pipe& output, const Pipe& record) {
    std::wstring line = quoted(program.native());
    for (const std::string& argument : arguments) line += L" " + quoted(windows::to_wide(argument));
    std::vector<BYTE> block = descriptors({input.reading(), output.writing(), output.writing(), record.writing()});
    Inherited handles({input.reading(), output.writing(), record.writing()});
    STARTUPINFOEXW how{};
    how.StartupInfo.cb = sizeof how;
    how.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    how.StartupInfo.hStdInput = input.reading();
    how.StartupInfo.hStdOutput = output.writing();
    how.StartupInfo.hStdError = output.writing();
    how.StartupInfo.cbReserved2 = static_cast<WORD>(block.size());
    how.StartupInfo.lpReserved2 = block.data();
    how.lpAttributeList = handles.list();
    // Suspended until it is in the job: nothing that it starts escapes.
    constexpr DWORD kFlags = CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT | CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP;
    PROCESS_INFORMATION made{};
    if (::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, kFlags, nullptr, nullptr, &how.StartupInfo,
                         &made) == 0)
        return nullptr;
    const Handle thread(made.hThread);
    ::AssignProcessToJobObject(job, made.hProcess);
    ::ResumeThread(thread.get());
    return Handle(made.hProcess);
}

// In place of error reporting and debuggers, which would take longer than the limit.
LONG WINAPI end_at_once(EXCEPTION_POINTERS* what) {
    ::TerminateProcess(::GetCurrentProcess(), what->ExceptionRecord->ExceptionCode);
    return EXCEPTION_EXECUTE_HANDLER;
}

// An exception that nobody caught ends a process with its code.
bool is_exception(DWORD code) {
    constexpr DWORD kOfGcc = 0x20474343;
    return code >> 28 == 0xC || code >> 28 == 0xE || code == EXCEPTION_BREAKPOINT ||
           code == EXCEPTION_DATATYPE_MISALIGNMENT || code == kOfGcc;
}

struct ExceptionName {
    DWORD code;
    const char* name;
};
constexpr std::array kExceptions{
    ExceptionName{0xC0000005, "access violation"},
    ExceptionName{0xC0000006, "a page could not be read"},
    ExceptionName{0xC000001D, "illegal instruction"},
    ExceptionName{0xC0000094, "division by zero"},
    ExceptionName{0xC0000096, "privileged instruction"},
    ExceptionName{0xC00000FD, "stack overflow"},
    ExceptionName{0xC0000135, "a library is missing"},
    ExceptionName{0xC0000139, "a function is missing from a library"},
    ExceptionName{0xC0000142, "a library failed to start"},
    ExceptionName{0xC0000374, "heap corruption"},
    ExceptionName{0xC0000409, "abort or stack overrun"},
    ExceptionName{0x80000003, "breakpoint"},
    ExceptionName{0xE06D7363, "C++ exception"},
    ExceptionName{0x20474343, "C++ exception"},
};

// The host of a console is started for whoever may write to one, and ends a moment after the last of them.
bool is_console_host(HANDLE process) {
    std::array<wchar_t, 1024> file{};
    DWORD length = file.size();
    if (::QueryFullProcessImageNameW(process, 0, file.data(), &length) == 0) return false;
    const std::filesystem::path path(std::wstring_view(file.data(), length));
    return ::_wcsicmp(path.filename().c_str(), L"conhost.exe") == 0;
}

// Whether processes are in it still.
bool has_members(HANDLE job) {
    struct {
        JOBOBJECT_BASIC_PROCESS_ID_LIST list;
        std::array<ULONG_PTR, 63> more;
    } ids{};
    if (::QueryInformationJobObject(job, JobObjectBasicProcessIdList, &ids, sizeof ids, nullptr) == 0)
        return ::GetLastError() == ERROR_MORE_DATA;
    const std::span<const ULONG_PTR> all(ids.list.ProcessIdList, ids.list.NumberOfProcessIdsInList);
    return std::any_of(all.begin(), all.end(), [](ULONG_PTR id) {
        const Handle process(::OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, static_cast<DWORD>(id)));
        return process && ::WaitForSingleObject(process.get(), 0) != WAIT_OBJECT_0 && !is_console_host(process.get());
    });
}

// How the child ended, when it did by itself.
void take_code(const Handle& child, ChildOutcome& outcome) {
    DWORD code = 0;
    if (::GetExitCodeProcess(child.get(), &code) == 0)
        outcome.cut_short = true;
    else
        is_exception(code) ? outcome.signal = static_cast<int>(code) : outcome.exit_code = static_cast<int>(code);
}

// With a secret only the lines that begin with it are the child's record; `words` is what its input holds.
ChildOutcome run(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 std::chrono::milliseconds limit, std::chrono::milliseconds most, const std::atomic<uint32_t>* cancel,
                 const std::string& words, const std::string& secret) {
    ChildOutcome outcome;
    Pipe input;
    Pipe output;
    Pipe record;
    RecordReader reader(secret);
    const Handle job = make_job();
    DWORD written = 0;
    if (!input.open() || !output.open() || !record.open() || !job ||
        (!words.empty() &&
         ::WriteFile(input.writing(), words.data(), static_cast<DWORD>(words.size()), &written, nullptr) == 0)) {
        outcome.problem = "no pipe: " + windows::words_for(::GetLastError());
        return outcome;
    }
    input.keep_writing();
    output.keep_reading();
    record.keep_reading();
    const Clock::time_point started = Clock::now();
    const Handle child = start(program, arguments, job.get(), input, output, record);
    if (!child) {
        outcome.problem = "it could not be started: " + windows::words_for(::GetLastError());
        return outcome;
    }
    outcome.started = true;
    input.close_read();
    input.close_write();
    output.close_write();
    record.close_write();

    // Pipes cannot be waited for with a limit; what is in them is looked at every other millisecond.
    const Clock::time_point last = started + most;
    Clock::time_point spoke = started;
    Clock::time_point deadline = std::min(started + limit, last);
    bool gone = false;
    while ((output.open() || record.open() || !gone) && Clock::now() < deadline && !outcome.cancelled) {
        const std::string text = output.drain();
        outcome.output += text;
        if (outcome.output.size() > kMostOutput) outcome.output.erase(0, outcome.output.size() - kMostOutput);
        const std::string bytes = record.drain();
        const std::string lines = secret.empty() ? bytes : reader.take(bytes);
        outcome.record += lines;
        if (!gone && !secret.empty() && !lines.empty()) {
            spoke = Clock::now();
            deadline = std::min(spoke + limit, last);
        }
        if (outcome.record.size() > kMostRecord) outcome.record.resize(kMostRecord);
        outcome.cancelled = !gone && cancel != nullptr && cancel->load() != 0;
        if (gone) {
            if (bytes.empty()) ::Sleep(1);
        } else if (::WaitForSingleObject(child.get(), bytes.empty() && text.empty() ? 2 : 0) == WAIT_OBJECT_0) {
            gone = true;
            outcome.seconds = std::chrono::duration<double>(Clock::now() - started).count();
            deadline = Clock::now() + kDrain;  // what it wrote is there
        }
    }
    outcome.timed_out = !gone && !outcome.cancelled;
    if (outcome.timed_out) outcome.silent = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - spoke);
    if (gone) take_code(child, outcome);
    outcome.left_processes = gone && has_members(job.get());
    ::TerminateJobObject(job.get(), 1);  // what it started, too
    if (!gone) {
        ::TerminateProcess(child.get(), 1);
        ::WaitForSingleObject(child.get(), 5000);
        outcome.seconds = std::chrono::duration<double>(Clock::now() - started).count();
    }
    return outcome;
}

}  // namespace

ChildOutcome run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit, const std::atomic<uint32_t>* cancel) {
    return run(program, arguments, limit, limit, cancel, {}, {});
}

ChildOutcome run_supervised(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit, std::chrono::milliseconds most,
                            const std::atomic<uint32_t>* cancel, Notice) {
    const std::string secret = make_secret();
    std::vector<std::string> words{kSupervised};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run(program, words, limit, most, cancel, secret + "\n", secret);
}

// The job object watches: there is no second half.
bool supervise() noexcept {
    std::array<char, kSecretLength> secret{};
    size_t there = 0;
    while (there < secret.size()) {
        const int n = ::_read(0, secret.data() + there, static_cast<unsigned>(secret.size() - there));
        if (n <= 0) return false;
        there += static_cast<size_t>(n);
    }
    keep_secret({secret.data(), secret.size()});
    return true;
}

std::string name_of_signal(int number) {
    const auto code = static_cast<DWORD>(number);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), " (exception 0x%08lX)", static_cast<unsigned long>(code));
    for (const ExceptionName& each : kExceptions)
        if (each.code == code) return each.name + std::string(text.data());
    return "an exception" + std::string(text.data());
}

void limit_this_process(unsigned seconds) noexcept {
    // No dialog boxes, no error reporting. Its parent's job ends it with its parent.
    ::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    ::SetUnhandledExceptionFilter(end_at_once);
    const HANDLE job = ::CreateJobObjectW(nullptr, nullptr);  // for as long as the process lives
    if (job == nullptr) return;
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_TIME;
    limits.BasicLimitInformation.PerProcessUserTimeLimit.QuadPart = int64_t{seconds} * 10'000'000;
    ::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    ::AssignProcessToJobObject(job, ::GetCurrentProcess());
}

bool write_record(const std::string& text) noexcept {
    const std::string secret = kept_secret();
    const std::string lines = secret.empty() ? text : signed_lines(secret, text);
    size_t done = 0;
    while (done < lines.size()) {
        const int n = ::_write(kRecordStream, lines.data() + done,
                               static_cast<unsigned>(std::min<size_t>(lines.size() - done, 1 << 20)));
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

// Not ExitProcess(): that calls every library once more.
void leave_process(int exit_code) noexcept {
    ::TerminateProcess(::GetCurrentProcess(), static_cast<UINT>(exit_code));
    __builtin_unreachable();
}

}  // namespace backplane::base
