/* What a module can do to its process, as POSIX systems have it. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int in_the_child(void) { return strcmp(program_invocation_short_name, "backplane-probe") == 0; }
static void crash(void) { raise(SIGSEGV); }
static void hang(void) {
    for (;;) pause();
}
static void become_another_program(void) { execl("/bin/true", "true", (char*)NULL); }
static void* sleeper(void* arg) {
    hang();
    return arg;
}
static void spawn_a_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
}
static void change_signals(void) { signal(SIGUSR2, SIG_IGN); }
static void leave_a_child_behind(void) {
    if (fork() == 0) hang();
}
static int write_record(const char* text, size_t size) { return write(3, text, size) >= 0; }
