/* speech_c MODULE_FOLDER NETWORK SOUND: a stranger's program in C, which writes down what is said in a file. Where the
 * modules are says BACKPLANE_MODULE_PATH. */
#include <stdio.h>

#include "backplane/transcriber.h"

int main(int argc, char** argv) {
    char text[1024] = "";
    bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, sizeof text};
    backplane_context* context = NULL;
    backplane_transcriber* transcriber = NULL;
    backplane_transcript* said = NULL;
    if (argc != 4) return 2;
    if (backplane_context_create(NULL, &context, &error) != BP_OK ||
        backplane_transcriber_create(context, NULL, argv[2], NULL, &transcriber, &error) != BP_OK ||
        backplane_transcriber_run_file(transcriber, argv[3], NULL, &said, &error) != BP_OK)
        fprintf(stderr, "speech: %s\n", text);
    else
        puts(backplane_transcript_text(said));
    const int done = said != NULL;
    backplane_transcript_destroy(said);
    backplane_transcriber_destroy(transcriber);
    backplane_context_destroy(context);
    return done ? 0 : 1;
}
