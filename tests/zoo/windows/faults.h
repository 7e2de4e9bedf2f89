/* What a module can do to its process, as Windows has it. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <io.h>
#include <process.h>
#include <signal.h>
#include <stdlib.h>
#include <wchar.h>

static int in_the_child(void) {
    wchar_t file[MAX_PATH] = {0};
    GetModuleFileNameW(NULL, file, MAX_PATH - 1);
    return wcsstr(file, L"backplane-probe") != NULL;
}
static void crash(void) { *(volatile int*)NULL = 1; }
static void hang(void) { Sleep(INFINITE); }
static void become_another_program(void) { _execl("C:\\windows\\system32\\hostname.exe", "hostname", (char*)NULL); }
static DWORD WINAPI sleeper(void* arg) {
    (void)arg;
    hang();
    return 0;
}
static void spawn_a_thread(void) { CreateThread(NULL, 0, sleeper, NULL, 0, NULL); }
static void change_signals(void) { signal(SIGBREAK, SIG_IGN); }
/* The same program once more, which does not go on: it is there until somebody ends it. */
static void leave_a_child_behind(void) {
    STARTUPINFOW how = {sizeof how};
    PROCESS_INFORMATION made = {0};
    CreateProcessW(NULL, GetCommandLineW(), NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &how, &made);
}
static int write_record(const char* text, size_t size) { return _write(3, text, (unsigned)size) >= 0; }
