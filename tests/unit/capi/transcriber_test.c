/* The C API of speech to text (transcriber.h), the wrong uses first. transcriber_test.cpp gives it a network and samples. Prints what failed. */
#include "transcriber_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"

static void wrong_uses(backplane_context* context, const transcriber_given* given) {
    bp_error e = fresh();
    backplane_transcriber* t = NULL;
    check(backplane_transcriber_create(NULL, NULL, given->model, NULL, &t, &e) == BP_INVALID &&
              strstr(text, "context") != NULL,
          "a null context is named");
    check(backplane_transcriber_create(context, NULL, NULL, NULL, &t, &e) == BP_INVALID && strstr(text, "model") != NULL,
          "a null model is named");
    check(backplane_transcriber_create(context, NULL, given->model, NULL, NULL, NULL) == BP_INVALID,
          "a null out is refused");
    check(backplane_transcriber_create(context, "no-such", given->model, NULL, &t, &e) == BP_NOT_FOUND && t == NULL,
          "an unknown device");
    check(backplane_transcriber_create(context, "cpu", "no-such.gguf", NULL, &t, &e) == BP_NOT_FOUND && t == NULL &&
              strstr(text, "no-such.gguf") != NULL,
          "a network that is not there is named");
    check(backplane_transcriber_create_on(NULL, 0, given->model, NULL, &t, &e) == BP_INVALID &&
              strstr(text, "no device") != NULL,
          "no device");
    backplane_transcriber_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = BP_SIZE(backplane_transcriber_options, batch);
    options.decoder = 9;
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_INVALID &&
              strstr(text, "decoder is 9") != NULL,
          "an unknown decoder says which there are");
    options.decoder = BACKPLANE_DECODER_RNNT;
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_UNSUPPORTED &&
              strstr(text, "tdt") != NULL,
          "a decoder that the network has not");
    options.decoder = 0;
    options.dtype = BP_I8;
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_INVALID, "feature maps of i8");
    options.dtype = 0;
    options.struct_size = sizeof options;
    options.vad = "/no/such/vad.onnx";
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_NOT_FOUND &&
              strstr(text, "vad.onnx") != NULL,
          "a voice detector that is not there");
    options.struct_size =
        BP_SIZE(backplane_transcriber_options, batch); /* what an older program knows: it is not looked at */
    options.window = 1;
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_INVALID &&
              strstr(text, "5 to 1200") != NULL,
          "a window of a second");
    options.window = 0;
    options.vad = NULL;
    options.struct_size = sizeof options;
    options.streaming = 9;
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_INVALID &&
              strstr(text, "streaming is 9") != NULL,
          "an unknown way of streaming says which there are");
    options.streaming = BACKPLANE_STREAMING_AUTOMATIC;
    options.memory = 1;
    check(backplane_transcriber_create(context, "cpu", given->model, &options, &t, &e) == BP_NO_DEVICE_MEMORY &&
              strstr(text, "needs ") != NULL && strstr(text, "streamed there ") != NULL,
          "a byte of memory is too little, and the error says what would do");
    backplane_transcriber_destroy(NULL);
    backplane_transcript_destroy(NULL);
    backplane_transcript_stream_destroy(NULL);
    check(strcmp(backplane_transcript_text(NULL), "") == 0 && backplane_transcript_seconds(NULL) == 0, "no transcript");
}

static void told(backplane_transcriber* t) {
    bp_error e = fresh();
    backplane_transcriber_info info;
    memset(&info, 0, sizeof info);
    check(backplane_transcriber_get_info(t, &info, &e) == BP_INVALID && strstr(text, "struct_size") != NULL,
          "a record without its size");
    info.struct_size = sizeof info;
    check(backplane_transcriber_get_info(t, &info, &e) == BP_OK, "info");
    check(strcmp(info.pauses_by, "energy") == 0, "no voice detector lies beside the network");
    check(info.decoder == BACKPLANE_DECODER_TDT && info.sample_rate == 16000 && info.name[0] != '\0', "of the network");
    check(strcmp(info.device, "cpu:0") == 0 && info.device_name[0] != '\0' && info.why[0] != '\0', "of the device, and why");
}

static void the_words(const backplane_transcript* said, double seconds) {
    bp_error e = fresh();
    check(fabs(backplane_transcript_seconds(said) - seconds) < 1e-6, "seconds");
    uint32_t count = 0;
    check(backplane_transcript_words(said, NULL, 0, &count, &e) == BP_OK && count > 0, "how many words");
    check(backplane_transcript_words(said, NULL, 1, &count, &e) == BP_INVALID, "room that is null");
    backplane_word words[256];
    memset(words, 0, sizeof words);
    check(backplane_transcript_words(said, words, 1, &count, &e) == BP_INVALID, "a word without its size");
    for (int i = 0; i < 256; ++i) words[i].struct_size = sizeof words[i];
    check(count < 256 && backplane_transcript_words(said, words, 256, &count, &e) == BP_OK, "words");
    char joined[8192] = "";
    double last = 0;
    for (uint32_t i = 0; i < count && i < 256; ++i) {
        if (i > 0) strcat(joined, " ");
        strcat(joined, words[i].text);
        check(words[i].start >= last && words[i].end >= words[i].start && words[i].end <= seconds + 1e-6, "times go on");
        check(words[i].confidence > 0 && words[i].confidence <= 1, "confidence");
        last = words[i].start;
    }
    check(strcmp(joined, backplane_transcript_text(said)) == 0, "the text is the words with a space between");
}

struct pieces {
    const float* at;
    uint64_t left;
    uint64_t lie; /* added to what is said of the last piece */
};
static uint64_t next_piece(void* arg, float* into, uint64_t room) {
    struct pieces* p = arg;
    uint64_t n = p->left < 1234 ? p->left : 1234;
    if (n > room) n = room;
    memcpy(into, p->at, n * sizeof *into);
    p->at += n;
    p->left -= n;
    return p->lie != 0 ? room + p->lie : n;
}

/* Whether it is a transcript with that text; it is given back. */
static int says(backplane_transcript* said, const char* want) {
    const int same = said != NULL && strcmp(backplane_transcript_text(said), want) == 0;
    if (!same) printf("said '%s', not '%s'\n", backplane_transcript_text(said), want);
    backplane_transcript_destroy(said);
    return same;
}

static void every_way_in(backplane_transcriber* t, const transcriber_given* given) {
    bp_error e = fresh();
    backplane_transcript *whole = NULL, *said = NULL;
    check(backplane_transcriber_run(t, given->samples, given->count, NULL, &whole, &e) == BP_OK, "samples");
    const char* want = backplane_transcript_text(whole);
    check(strlen(want) > 3 && (given->want == NULL || strcmp(want, given->want) == 0), "what is said");
    if (given->want != NULL && strcmp(want, given->want) != 0) printf("said '%s'\n", want);
    the_words(whole, (double)given->count / 16000);

    struct pieces pieces = {given->samples, given->count, 0};
    check(backplane_transcriber_run_source(t, next_piece, &pieces, NULL, &said, &e) == BP_OK && says(said, want),
          "a source says the same");
    pieces = (struct pieces){given->samples, given->count, 1};
    check(backplane_transcriber_run_source(t, next_piece, &pieces, NULL, &said, &e) == BP_INVALID && said == NULL &&
              strstr(text, "room for") != NULL,
          "a source that wrote more than there was room for");
    check(backplane_transcriber_run_source(t, NULL, NULL, NULL, &said, &e) == BP_INVALID, "no source");

    const backplane_clip clips[3] = {{given->samples, given->count}, {NULL, 0}, {given->samples, given->count}};
    backplane_transcript* all[3] = {NULL, NULL, NULL};
    check(backplane_transcriber_run_clips(t, clips, 3, NULL, all, &e) == BP_OK && says(all[0], want) && says(all[1], "") &&
              says(all[2], want),
          "clips");
    const backplane_clip bad[2] = {{given->samples, given->count}, {NULL, 5}};
    check(backplane_transcriber_run_clips(t, bad, 2, NULL, all, &e) == BP_INVALID && all[0] == NULL && all[1] == NULL,
          "samples that are null: none is made");

    check(backplane_transcriber_run_file(t, "no-such.flac", NULL, &said, &e) != BP_OK && said == NULL &&
              strstr(text, "no-such.flac") != NULL,
          "a sound that is not there is named");
    if (given->clip != NULL)
        check(backplane_transcriber_run_file(t, given->clip, NULL, &said, &e) == BP_OK && says(said, want),
              "the file says the same");
    else
        printf("skipped: a sound file: this build reads none\n");

    const float none[2] = {0, NAN};
    check(backplane_transcriber_run(t, none, 2, NULL, &said, &e) == BP_INVALID && said == NULL,
          "a sample that is no number");
    const uint32_t cancel = 1;
    check(backplane_transcriber_run(t, given->samples, given->count, &cancel, &said, &e) == BP_CANCELLED && said == NULL,
          "a flag ends it");
    backplane_transcript_destroy(whole);
}

static void streams(backplane_transcriber* t, const transcriber_given* given) {
    bp_error e = fresh();
    backplane_transcript_stream* stream = NULL;
    check(backplane_transcript_stream_create(t, &stream, &e) == BP_OK, "a stream");
    backplane_transcriber_destroy(t); /* the stream keeps what it needs */
    backplane_transcript* line = NULL;
    uint32_t is_final = 7, finals = 0, partial = 0;
    check(backplane_transcript_stream_next(stream, &line, &is_final, &e) == BP_OK && line == NULL && is_final == 0,
          "no line yet");
    const float none[1] = {NAN};
    check(backplane_transcript_stream_feed(stream, none, 1, NULL, &e) == BP_INVALID, "a sample that is no number");
    const uint32_t cancel = 1;
    check(backplane_transcript_stream_feed(stream, given->samples, given->count / 2, &cancel, &e) == BP_CANCELLED,
          "a flag ends feeding");
    for (uint64_t at = given->count / 2; at < given->count; at += 4000) {
        const uint64_t n = given->count - at < 4000 ? given->count - at : 4000;
        check(backplane_transcript_stream_feed(stream, given->samples + at, n, NULL, &e) == BP_OK, "feed");
    }
    check(backplane_transcript_stream_finish(stream, NULL, &e) == BP_OK, "finish");
    char joined[8192] = "";
    double last = 0, first = -1;
    while (backplane_transcript_stream_next(stream, &line, &is_final, &e) == BP_OK && line != NULL) {
        partial += is_final == 0;
        if (is_final != 0) {
            if (finals++ > 0) strcat(joined, " ");
            strcat(joined, backplane_transcript_text(line));
            backplane_word word;
            memset(&word, 0, sizeof word);
            word.struct_size = sizeof word;
            uint32_t count = 0;
            check(backplane_transcript_words(line, &word, 1, &count, &e) == BP_OK && count > 0 && word.start >= last,
                  "times from the first sample of the stream");
            if (first < 0) first = word.start;
            last = word.start;
        }
        backplane_transcript_destroy(line);
    }
    check(finals > 0 && partial > 0, "partial and final lines");
    check(first >= 0 && first < (double)given->count / 32000, "what was fed while the flag was set is not lost");
    if (given->want != NULL && strcmp(joined, given->want) != 0) printf("the stream said '%s'\n", joined);
    check(given->want == NULL || strcmp(joined, given->want) == 0, "the stream says the same");
    check(backplane_transcript_stream_finish(stream, NULL, &e) == BP_OK &&
              backplane_transcript_stream_next(stream, &line, NULL, &e) == BP_OK && line == NULL,
          "a stream begins anew");
    backplane_transcript_stream_destroy(stream);
}

int check_transcriber(const transcriber_given* given) {
    bp_error e = fresh();
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = 1;
    options.module_paths = &given->modules;
    options.module_path_count = 1;
    backplane_context* context = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context");
    wrong_uses(context, given);
    backplane_transcriber *t = NULL, *on = NULL;
    check(backplane_transcriber_create(context, "cpu", given->model, NULL, &t, &e) == BP_OK, "a transcriber");
    backplane_device* device = NULL;
    check(backplane_device_open(context, "cpu", &device, &e) == BP_OK, "a device");
    backplane_context_destroy(context); /* the transcriber stays */
    told(t);
    check(backplane_transcriber_create_on(&device, 1, given->model, NULL, &on, &e) == BP_OK, "on a device");
    backplane_device_close(device);
    backplane_transcriber_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check(backplane_transcriber_get_info(on, &info, &e) == BP_OK && info.why[0] == '\0', "the caller chose");
    every_way_in(on, given);
    char plan[65536];
    size_t size = 0;
    check(backplane_transcriber_plan(on, plan, sizeof plan, &size, &e) == BP_OK && size == strlen(plan) + 1 &&
              strstr(plan, "stage 1 on cpu:0") != NULL && strstr(plan, "stage 2") == NULL,
          "the plan says that all of it runs there");
    check(backplane_transcriber_notes(on, plan, sizeof plan, NULL, &e) == BP_OK && plan[0] == '\0', "nothing to note");
    backplane_transcriber_destroy(on);
    streams(t, given);
    printf("%s, %d failed\n", backplane_version(), failures);
    return failures;
}
