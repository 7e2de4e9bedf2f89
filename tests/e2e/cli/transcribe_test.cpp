// transcribe: what goes wrong first, then what goes right.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "base/json.hpp"
#include "costs_told.hpp"
#include "program.hpp"
#include "tiny_network.hpp"

namespace backplane::e2e {
namespace {

// PCM of 16 bits, as a WAV file.
std::string wav(const Place& place, const std::string& name, const std::vector<float>& samples, int rate = 16000) {
    std::string bytes;
    const auto put = [&](uint32_t value, int size) {
        for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i);
    };
    const auto size = static_cast<uint32_t>(samples.size() * 2);
    bytes += "RIFF";
    put(36 + size, 4);
    bytes += "WAVEfmt ";
    put(16, 4);
    put(1, 2);
    put(1, 2);
    put(static_cast<uint32_t>(rate), 4);
    put(static_cast<uint32_t>(rate) * 2, 4);
    put(2, 2);
    put(16, 2);
    bytes += "data";
    put(size, 4);
    for (const float x : samples) put(static_cast<uint16_t>(static_cast<int16_t>(x * 30000)), 2);
    std::ofstream(place.at(name), std::ios::binary) << bytes;
    return place.at(name);
}

std::string network(const Place& place) {
    parakeet::write_random_network(place.at("net.gguf"), parakeet::tiny_transducer({0, 1, 2, 3, 4}),
                                   {.seed = 21, .blank = 1});
    return place.at("net.gguf");
}

Outcome transcribe(const Place& place, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "transcribe");
    arguments.insert(arguments.end(), {"--model", place.at("net.gguf"), "--device", "cpu"});
    return run(place, arguments);
}

TEST(CliTranscribe, TheNetworkIsNotWrittenOver) {
    const Place p;
    const std::string before = content(network(p));
    const std::string good = wav(p, "good.wav", parakeet::random_sound(16000, 1));
    const Outcome o = transcribe(p, {good, "--output", p.at("net.gguf"), "--format", "text"});
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
    EXPECT_EQ(content(p.at("net.gguf")), before);
}

TEST(CliTranscribe, EveryBadInputIsOneLineAndNoOutput) {
    const Place p;
    network(p);
    const std::string good = wav(p, "good.wav", parakeet::random_sound(16000, 1));
    std::ofstream(p.at("empty.wav"));
    std::ofstream(p.at("text.wav")) << "this is no sound";
    wav(p, "none.wav", {});
    wav(p, "silent.wav", std::vector<float>(20000));
    std::vector<float> muted(40000, -0.25F);  // and dithered
    for (size_t i = 0; i < muted.size(); i += 3) muted[i] += 3.9F / 30000;
    wav(p, "muted.wav", muted);
    fs::create_directory(p.at("folder"));
    std::ofstream(p.at("cut.wav"), std::ios::binary) << content(good).substr(0, 9000);
    for (const char* name :
         {"missing.wav", "cut.wav", "empty.wav", "text.wav", "none.wav", "silent.wav", "muted.wav", "folder"}) {
        const Outcome o = transcribe(p, {p.at(name), "--output", p.at("out.txt")});
        EXPECT_EQ(o.exit_code, 1) << name;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(name), std::string::npos) << o.err;
        EXPECT_FALSE(fs::exists(p.at("out.txt")));
    }
    EXPECT_EQ(run(p, {"transcribe", good, "--model", good}).exit_code, 1);
    EXPECT_EQ(transcribe(p, {good, "--decoder", "rnnt"}).exit_code, 1);
    const std::pair<const char*, const char*> languages[] = {
        {"de", "takes no language"},  {"en-GB", "takes no language"}, {"zh-Hans-CN", "takes no language"},
        {"d", "is no language"},      {"de-", "is no language"},      {"12", "is no language"},
        {"de--at", "is no language"}, {"a b", "is no language"}};
    for (const auto& [language, why] : languages) {
        const Outcome o = transcribe(p, {good, "--language", language});
        EXPECT_EQ(o.exit_code, 1) << language;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(why), std::string::npos) << o.err;
    }
    EXPECT_EQ(transcribe(p, {good, "--language", "auto"}).exit_code, 0);
    for (const char* name : {"net.gguf", "text.wav", "none.onnx"}) {
        const Outcome o = transcribe(p, {good, "--vad", p.at(name)});
        EXPECT_EQ(o.exit_code, 1) << name;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(name), std::string::npos) << o.err;
    }
    EXPECT_EQ(transcribe(p, {good, "--format", "doc"}).exit_code, 2);
    EXPECT_EQ(transcribe(p, {good, good, "--output", p.at("one.txt")}).exit_code, 2);
    for (const char* live : {"--live", "--stream"}) {
        const Outcome o = transcribe(p, {good, live});
        EXPECT_EQ(o.exit_code, 2);
        EXPECT_NE(o.err.find("--live reads from '-' alone"), std::string::npos) << o.err;
    }
    EXPECT_EQ(transcribe(p, {good, "--stream", "sometimes"}).exit_code, 2);
    EXPECT_EQ(transcribe(p, {good, "--output", good, "--format", "text"}).exit_code, 2) << "an input is not written over";
}

TEST(CliTranscribe, TextIsNotWrittenToAFileWhoseNameSaysOtherwise) {
    const Place p;
    network(p);
    const std::string good = wav(p, "good.wav", parakeet::random_sound(80000, 1));
    for (const char* name : {"a.docx", "a.wav", "a.srt.gz"}) {
        const Outcome o = transcribe(p, {good, "--output", p.at(name)});
        EXPECT_EQ(o.exit_code, 2) << name;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(fs::path(name).extension().string() + "', as --output '"), std::string::npos) << o.err;
        EXPECT_FALSE(fs::exists(p.at(name)));
        EXPECT_EQ(transcribe(p, {good, "--output", p.at(name), "--format", "text"}).exit_code, 0) << name;
        EXPECT_TRUE(fs::exists(p.at(name)));
    }
    const std::string text = transcribe(p, {good}).out;
    for (const char* name : {"a", "a.txt", "a.text", "a.TXT", "a.md", "talk.2.log"}) {
        EXPECT_EQ(transcribe(p, {good, "--output", p.at(name)}).exit_code, 0) << name;
        EXPECT_EQ(content(p.at(name)), text) << name;
    }
    EXPECT_EQ(transcribe(p, {good, "--output", p.at("a.VTT")}).exit_code, 0);
    EXPECT_EQ(content(p.at("a.VTT")).rfind("WEBVTT", 0), 0U);
    // The name of a folder says nothing.
    fs::create_directory(p.at("texts.d"));
    EXPECT_EQ(transcribe(p, {good, "--output", p.at("texts.d")}).exit_code, 0);
    EXPECT_EQ(content(p.at("texts.d/good.txt")), text);
}

TEST(CliTranscribe, TwoFilesOfOneNameAreBothNamedAndNothingIsDone) {
    const Place p;
    network(p);
    fs::create_directory(p.at("folder"));
    fs::create_directory(p.at("texts"));
    const std::string good = wav(p, "good.wav", parakeet::random_sound(16000, 1));
    const std::string twin = wav(p, "folder/good.wav", parakeet::random_sound(16000, 2));
    const Outcome o = transcribe(p, {good, twin, "--output", p.at("texts")});
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_NE(o.err.find("'" + good + "' and '" + twin + "' would both be written to '"), std::string::npos) << o.err;
    EXPECT_TRUE(fs::is_empty(p.at("texts")));
}

TEST(CliTranscribe, ABudgetIsKeptOrTheErrorSaysWhatWouldFit) {
    const Place p;
    network(p);
    const std::string good = wav(p, "good.wav", parakeet::random_sound(32000, 1));
    const Outcome whole = transcribe(p, {good, "--window", "6"});
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const Outcome none = transcribe(p, {good, "--memory", "cpu=1K"});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_TRUE(is_one_line(none.err)) << none.err;
    EXPECT_NE(none.err.find("needs "), std::string::npos) << none.err;
    const Outcome enough = transcribe(p, {good, "--window", "6", "--memory", "cpu=1GiB"});
    EXPECT_EQ(enough.exit_code, 0) << enough.err;
    EXPECT_EQ(enough.out, whole.out);
    const Outcome always = transcribe(p, {good, "--window", "6", "--stream", "always"});
    EXPECT_EQ(always.exit_code, 1) << "of a network of so few weights nothing is saved";
    EXPECT_NE(always.err.find("cannot transcribe with weights streamed"), std::string::npos) << always.err;
    EXPECT_EQ(transcribe(p, {good, "--stream", "perhaps"}).exit_code, 2);
    EXPECT_EQ(transcribe(p, {good, "--memory", "cpu=much"}).exit_code, 2);
}

TEST(CliTranscribe, OtherFilesOfABatchAreDoneWhereOneIsBad) {
    const Place p;
    network(p);
    fs::create_directory(p.at("sounds"));
    fs::create_directory(p.at("texts"));
    wav(p, "sounds/a.wav", parakeet::random_sound(40000, 1));
    std::ofstream(p.at("sounds/b.wav")) << "this is no sound";
    wav(p, "sounds/c.WAV", parakeet::random_sound(30000, 2), 8000);
    std::ofstream(p.at("sounds/notes.txt")) << "not looked at";
    const Outcome o = transcribe(p, {p.at("sounds"), "--output", p.at("texts"), "--format", "tsv"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
    EXPECT_NE(o.err.find("b.wav"), std::string::npos) << o.err;
    std::vector<std::string> written;
    for (const auto& entry : fs::directory_iterator(p.at("texts"))) written.push_back(entry.path().filename().string());
    std::sort(written.begin(), written.end());
    EXPECT_EQ(written, (std::vector<std::string>{".backplane-batch-0.jsonl", "a.tsv", "c.tsv"}));
    EXPECT_EQ(content(p.at("texts/a.tsv")).rfind("start\tend\tconfidence\tword\n", 0), 0U);
}

TEST(CliTranscribe, WhatIsNoSoundAmongOthersIsNamedOnceAndTheOthersAreDone) {
    const Place p;
    network(p);
    fs::create_directory(p.at("nothing"));
    fs::create_directory(p.at("texts"));
    const std::string good = wav(p, "good.wav", parakeet::random_sound(30000, 2));
    const std::string missing = p.at("missing.wav");
    wav(p, "muted.wav", std::vector<float>(20000));
    const std::pair<std::string, std::string> refused[] = {
        {p.at("nothing"), "there is no audio in the folder '" + p.at("nothing") + "'"},
        {missing, "backplane: cannot read '" + missing + "': "},
        {p.at("muted.wav"), "cannot transcribe '" + p.at("muted.wav") + "': it is silent"}};
    for (const auto& [name, why] : refused) {
        fs::remove(p.at("texts/good.txt"));
        const Outcome o = transcribe(p, {good, name, "--again", "--output", p.at("texts")});
        EXPECT_EQ(o.exit_code, 1) << name;
        EXPECT_TRUE(is_one_line(o.err.substr(std::min(o.err.size(), o.err.find("backplane: "))))) << o.err;
        EXPECT_NE(o.err.find(why), std::string::npos) << o.err;
        EXPECT_TRUE(fs::exists(p.at("texts/good.txt")));
    }
    EXPECT_FALSE(fs::exists(p.at("texts/muted.txt")));
}

// Short ones go together before the long ones between them; what is said of them comes in the order of their names, bad ones among them.
// That the network gives no numbers of it is no fault of the network's.
TEST(CliTranscribe, AFileThatIsTooLoudForNumbersIsNamedAmongOthers) {
    const Place p;
    network(p);
    fs::create_directory(p.at("texts"));
    const std::string good = wav(p, "good.wav", parakeet::random_sound(30000, 2));
    const std::vector<float> loud(16000, 1e30F);
    const auto size = static_cast<uint32_t>(loud.size() * sizeof(float));
    std::string bytes = content(good).substr(0, 44);
    const auto put = [&](size_t at, uint32_t value, size_t count) {
        for (size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
    };
    put(4, 36 + size, 4);
    put(20, 3, 2);  // samples are float
    put(28, 64000, 4);
    put(32, 4, 2);
    put(34, 32, 2);
    put(40, size, 4);
    bytes.append(reinterpret_cast<const char*>(loud.data()), size);
    std::ofstream(p.at("loud.wav"), std::ios::binary) << bytes;
    const Outcome o = transcribe(p, {good, p.at("loud.wav"), "--output", p.at("texts")});
    EXPECT_EQ(o.exit_code, 1);
    // Before it a note that no word was heard in the other one.
    EXPECT_TRUE(is_one_line(o.err.substr(std::min(o.err.size(), o.err.find("backplane: "))))) << o.err;
    const std::string wanted = "cannot transcribe '" + p.at("loud.wav") + "': the sound has samples of up to 1e+30,";
    EXPECT_NE(o.err.find(wanted), std::string::npos) << o.err;
    EXPECT_TRUE(fs::exists(p.at("texts/good.txt")));
    EXPECT_FALSE(fs::exists(p.at("texts/loud.txt")));
}

TEST(CliTranscribe, WhatIsSaidOfFilesComesInTheirOrderHoweverTheyGoTogether) {
    const Place p;
    network(p);
    fs::create_directory(p.at("sounds"));
    fs::create_directory(p.at("texts"));
    for (unsigned i = 0; i < 9; ++i)
        wav(p, "sounds/" + std::to_string(i) + ".wav", parakeet::random_sound(i % 3 == 0 ? 90000 : 20000, i));
    std::ofstream(p.at("sounds/4b.wav")) << "this is no sound";
    const auto name_of = [&](const char* name) { return (fs::path(p.at("sounds")) / name).string(); };
    const Outcome alone = transcribe(p, {p.at("sounds"), "--batch", "1", "--json"});
    const Outcome together = transcribe(p, {p.at("sounds"), "--batch", "4", "--json", "--output", p.at("texts")});
    EXPECT_EQ(alone.exit_code, 1);
    EXPECT_EQ(together.exit_code, 1);
    EXPECT_TRUE(is_one_line(together.err)) << together.err;
    // Objects one behind the other.
    const auto objects = [](const std::string& text) {
        std::vector<base::Json> all;
        for (size_t at = 0, end = 0; at < text.size(); at = end + 3) {
            end = text.find("\n}\n", at);
            all.push_back(base::Json::parse(text.substr(at, end + 2 - at)));
            if (end == std::string::npos) break;
        }
        return all;
    };
    const auto one = objects(alone.out), four = objects(together.out);
    ASSERT_EQ(one.size(), 10U);
    ASSERT_EQ(four.size(), 11U) << "of files in a folder a summary is the last";
    EXPECT_EQ(four[10]["summary"]["done"].get<size_t>(), 9U);
    EXPECT_EQ(four[10]["summary"]["failed"].size(), 1U);
    const char* names[] = {"0.wav", "1.wav", "2.wav", "3.wav", "4.wav", "4b.wav", "5.wav", "6.wav", "7.wav", "8.wav"};
    size_t runs = 0;
    for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(four[i]["file"].get<std::string>(), name_of(names[i]));
        EXPECT_EQ(one[i]["file"].get<std::string>(), name_of(names[i]));
        if (i == 5) {
            EXPECT_TRUE(four[i].contains("error"));
            continue;
        }
        EXPECT_EQ(four[i]["text"].get<std::string>(), one[i]["text"].get<std::string>());
        EXPECT_EQ(content(four[i]["output"].get<std::string>()), four[i]["text"].get<std::string>() + "\n");
        for (const base::Json& ran : four[i]["ran"])
            if (ran["part"].get<std::string>() == "encoder") runs = ran["runs"].get<size_t>();
    }
    EXPECT_EQ(runs, 3U) << "four short, two short, three long";
}

TEST(CliTranscribe, CtrlCLeavesFilesThatAreDoneAndSaysHowMany) {
    const Place p;
    network(p);
    fs::create_directory(p.at("sounds"));
    fs::create_directory(p.at("texts"));
    wav(p, "sounds/0.wav", parakeet::random_sound(16000, 1));
    // Five hours of sound: the same file again and again, by its names.
    const std::string longer = wav(p, "long.wav", parakeet::random_sound(16000 * 60, 2));
    for (int i = 1; i < 300; ++i) fs::create_symlink(longer, p.at("sounds/" + std::to_string(i) + ".wav"));
    const Started program(p, {"transcribe", p.at("sounds"), "--output", p.at("texts"), "--batch", "2", "--model",
                              p.at("net.gguf"), "--device", "cpu"});
    const auto done = [&] { return std::distance(fs::directory_iterator(p.at("texts")), {}); };
    program.wait_until([&] { return fs::exists(p.at("texts/0.txt")); });
    program.signal(SIGINT);
    const Outcome o = program.wait();
    EXPECT_EQ(o.exit_code, 130) << o.err;
    EXPECT_NE(o.err.find(" of 300 files are done"), std::string::npos) << o.err;
    EXPECT_TRUE(fs::exists(p.at("texts/0.txt")));
    EXPECT_LT(done(), 300);
    EXPECT_NE(o.out.find("0.txt: "), std::string::npos) << o.out;
}

TEST(CliTranscribe, WithoutAFolderTheTextsComeInTheOrderThatIsGiven) {
    const Place p;
    network(p);
    std::vector<std::string> files;
    std::string texts;
    for (const auto& [name, samples] :
         std::vector<std::pair<const char*, int>>{{"b.wav", 20000}, {"a.wav", 90000}, {"c.wav", 50000}}) {
        files.push_back(wav(p, name, parakeet::random_sound(samples, samples)));
        texts += files.back() + ":\n" + transcribe(p, {files.back()}).out;
    }
    const Outcome o = transcribe(p, files);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(o.out, texts);
    EXPECT_EQ(p.files(), 4U) << "no journal without a folder";
}

TEST(CliTranscribe, AManifestIsGoneOnWithWhereItWasLeft) {
    const Place p;
    network(p);
    fs::create_directory(p.at("sounds"));
    fs::create_directory(p.at("texts"));
    std::string manifest = "# of a corpus\n";
    for (int i = 0; i < 6; ++i) {
        const std::string name = "s" + std::to_string(i) + ".wav";
        wav(p, "sounds/" + name, parakeet::random_sound(16000 + i * 4000, static_cast<uint32_t>(i)));
        manifest += i % 2 == 0 ? name + "\n"
                               : "{\"audio_filepath\": \"" + name + "\", \"duration\": " + std::to_string(1 + i) +
                                     ", \"text\": \"\"}\n";
    }
    std::ofstream(p.at("sounds/list")) << manifest;
    fs::remove(p.at("sounds/s4.wav"));
    const std::vector<std::string> arguments{"--manifest", p.at("sounds/list"), "--output", p.at("texts"), "--json"};
    const Outcome first = transcribe(p, arguments);
    EXPECT_EQ(first.exit_code, 1);
    EXPECT_TRUE(is_one_line(first.err)) << first.err;
    EXPECT_NE(first.err.find("s4.wav"), std::string::npos) << first.err;
    EXPECT_NE(first.out.find("\"done\": 5"), std::string::npos) << first.out;
    const std::string text = content(p.at("texts/s3.txt"));
    EXPECT_EQ(text, transcribe(p, {p.at("sounds/s3.wav")}).out);
    wav(p, "sounds/s4.wav", parakeet::random_sound(16000, 4));
    const Outcome second = transcribe(p, arguments);
    EXPECT_EQ(second.exit_code, 0) << second.err;
    EXPECT_NE(second.out.find("\"done_before\": 5"), std::string::npos) << second.out;
    EXPECT_TRUE(fs::exists(p.at("texts/s4.txt")));
    // With another network, format or the like all is done again.
    parakeet::write_random_network(p.at("net.gguf"), parakeet::tiny_transducer({0, 1, 2, 3, 4}), {.seed = 22, .blank = 1});
    EXPECT_NE(transcribe(p, arguments).out.find("\"done_before\": 0"), std::string::npos);
    EXPECT_EQ(transcribe(p, {}).exit_code, 2) << "neither AUDIO nor a list";
    EXPECT_EQ(transcribe(p, {"--manifest", p.at("none")}).exit_code, 1);
}

TEST(CliTranscribe, AudioComesAtTheRateThatTheNetworkTakes) {
    const Place p;
    parakeet::Config config = parakeet::tiny_transducer({0, 1, 2, 3, 4});
    config.preprocessor.sample_rate = 8000;
    parakeet::write_random_network(p.at("net.gguf"), config, {.seed = 21, .blank = 1});
    const Outcome o = transcribe(p, {wav(p, "a.wav", parakeet::random_sound(40000, 1)), "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NEAR(base::Json::parse(o.out)["seconds"].get<double>(), 2.5, 0.01);
}

TEST(CliTranscribe, EveryFormatHasTheSameWords) {
    const Place p;
    network(p);
    const std::string sound = wav(p, "a.wav", parakeet::random_sound(80000, 1));
    const Outcome json = transcribe(p, {sound, "--json"});
    ASSERT_EQ(json.exit_code, 0) << json.err;
    const base::Json report = base::Json::parse(json.out);
    const std::string text = report["text"].get<std::string>();
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(report["device"].get<std::string>(), "cpu:0");
    EXPECT_EQ(report["decoder"].get<std::string>(), "tdt");
    EXPECT_EQ(report["pauses_by"].get<std::string>(), "energy") << "no silero-vad.onnx is beside the network";
    size_t encoders = 0;
    for (const base::Json& ran : report["ran"]) {
        EXPECT_EQ(ran["device"].get<std::string>(), "cpu:0");
        if (ran["part"].get<std::string>() == "encoder") encoders += ran["runs"].get<size_t>();
    }
    EXPECT_EQ(encoders, 1U);
    EXPECT_EQ(transcribe(p, {sound}).out, text + "\n");
    const std::string first = text.substr(0, text.find(' '));
    const std::string srt = transcribe(p, {sound, "--format", "srt"}).out;
    EXPECT_EQ(srt.rfind("1\n00:00:0", 0), 0U) << srt;
    EXPECT_NE(srt.find(" --> "), std::string::npos) << srt;
    EXPECT_NE(srt.find("\n" + first), std::string::npos) << srt;
    EXPECT_EQ(transcribe(p, {sound, "--format", "vtt"}).out.rfind("WEBVTT\n\n00:00:0", 0), 0U);
    EXPECT_EQ(transcribe(p, {sound, "--timestamps"}).out.rfind("[00:00:0", 0), 0U);
    const Outcome file = transcribe(p, {sound, "--format", "json", "--output", p.at("a.json")});
    EXPECT_EQ(file.exit_code, 0) << file.err;
    EXPECT_EQ(base::Json::parse(content(p.at("a.json")))["text"].get<std::string>(), text);
}

TEST(CliPlan, OfASpeechNetworkHasEncoderAndDecoder) {
    const Place p;
    const std::string net = network(p);
    const auto plan = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"plan", "--model", net, "--seconds", "2"});
        return run(p, more);
    };
    const Outcome o = plan({"--device", "cpu", "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto json = base::Json::parse(o.out);
    ASSERT_EQ(json["components"].size(), 2U);
    EXPECT_EQ(json["components"][0]["name"], "encoder");
    EXPECT_EQ(json["components"][1]["name"], "decoder");
    EXPECT_EQ(json["components"][1]["stages"][0]["device"], "cpu:0");
    EXPECT_EQ(json["ways"][0]["chosen"], true);
    const auto needs = json["ways"][0]["needs"].get<uint64_t>();
    const auto encoder = json["components"][0]["devices"][0]["bytes"].get<uint64_t>();
    EXPECT_GT(needs, encoder) << "the decoder is beside it";
    const Outcome two = plan({"--device", "cpu", "--batch", "2", "--json"});
    EXPECT_GT(base::Json::parse(two.out)["ways"][0]["needs"].get<uint64_t>(), needs);
    const Outcome words = plan({"--device", "cpu"});
    EXPECT_NE(words.out.find("encoder, 1 x "), std::string::npos) << words.out;
    EXPECT_NE(words.out.find("decoder, 1 x "), std::string::npos) << words.out;
    std::ofstream(p.at("cards.json")) << R"({"devices": [{"id": "card", "like": "cpu", "memory": "1MiB"}]})";
    const Outcome small = plan({"--what-if", p.at("cards.json"), "--stream", "never"});
    EXPECT_EQ(small.exit_code, needs > (1U << 20) ? 1 : 0) << small.err;
    EXPECT_NE(small.out.find("card"), std::string::npos) << small.out;
    const Outcome less = plan({"--device", "cpu", "--stream", "never", "--memory", "cpu=" + std::to_string(needs - 1)});
    EXPECT_EQ(less.exit_code, 1);
    EXPECT_NE(less.err.find("does not fit: needs "), std::string::npos) << less.err;
}

TEST(CliPlan, OfAnEncoderOnTwoDevicesHasTheStagesOfBoth) {
    const Place p;
    const std::string net = network(p);
    for (const char* place :
         {"encoder=cpu:0+reference:0", "encoder=rows:cpu:0+reference:0", "encoder=frames:cpu:0+reference:0"}) {
        const Outcome o = run(p, {"plan", "--model", net, "--seconds", "2", "--place", place});
        ASSERT_EQ(o.exit_code, 0) << o.err;
        EXPECT_NE(o.out.find(" on cpu:0: "), std::string::npos) << o.out;
        EXPECT_NE(o.out.find(" on reference:0: "), std::string::npos) << o.out;
        EXPECT_NE(o.out.find(" in f32, a window of 2 s at once\nplaced by name: "), std::string::npos) << o.out;
        EXPECT_NE(o.out.find("  DEVICE       HAS"), std::string::npos) << o.out;
        EXPECT_NE(o.out.find("█"), std::string::npos) << o.out;
        EXPECT_NE(o.out.find("  1 cpu:0  2 reference:0\n"), std::string::npos) << "who is at work when: " << o.out;
        const Outcome as_json = run(p, {"plan", "--model", net, "--seconds", "2", "--place", place, "--json"});
        const base::Json json = base::Json::parse(as_json.out);
        EXPECT_EQ(json["place"], place);
        EXPECT_EQ(json["seconds"], 2);
        std::map<std::string, std::set<std::string>> on;  // by component
        for (const base::Json& component : json["components"])
            for (const base::Json& stage : component["stages"])
                on[component["name"].get<std::string>()].insert(stage["device"].get<std::string>());
        EXPECT_EQ(on["encoder"], (std::set<std::string>{"cpu:0", "reference:0"})) << as_json.out;
        EXPECT_EQ(on["decoder"].size(), 1U) << as_json.out;
    }
    const Outcome layers = run(p, {"plan", "--model", net, "--seconds", "2", "--place", "encoder=cpu:0+reference:0"});
    EXPECT_NE(layers.out.find("encoder, layers 2 of 2"), std::string::npos) << layers.out;
    const Outcome apart = run(p, {"plan", "--model", net, "--place", "encoder=cpu:0,decoder=reference:0", "--json"});
    const base::Json components = base::Json::parse(apart.out)["components"];
    ASSERT_EQ(components.size(), 2U);
    EXPECT_EQ(components[0]["stages"][0]["device"], "cpu:0");
    EXPECT_EQ(components[1]["stages"][0]["device"], "reference:0");
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--model", net, "--place", "encoder=rows:"},
                                                  {"--model", net, "--place", "rows:cpu:0"},
                                                  {"--model", net, "--place", "encoder=frames:"},
                                                  {"--model", net, "--place", "encoder=rows:cpu:0+cpu:0"},
                                                  {"--model", net, "--place", "encoder=rows:cpu:0"},
                                                  {"--model", net, "--place", "encoder=frames:cpu:0,decoder=reference:0"},
                                                  {"--model", p.model(), "--place", "encoder=cpu:0+reference:0"}}) {
        std::vector<std::string> arguments{"plan"};
        arguments.insert(arguments.end(), wrong.begin(), wrong.end());
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 2) << o.out;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
}

TEST(CliTranscribe, LayersRowsAndFramesOfTheEncoderOnTwoDevicesSayTheSame) {
    const Place p;
    const std::string net = network(p);
    const std::string clip = wav(p, "clip.wav", parakeet::random_sound(40000, 3));
    const auto said = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"transcribe", clip, "--model", net});
        const Outcome o = run(p, more);
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return o.out;
    };
    const std::string one = said({"--device", "cpu"});
    EXPECT_EQ(said({"--place", "encoder=cpu:0+reference:0"}), one);
    EXPECT_EQ(said({"--place", "encoder=rows:cpu:0+reference:0"}), one);
    EXPECT_EQ(said({"--place", "encoder=frames:cpu:0+reference:0"}), one);
    EXPECT_EQ(said({"--place", "encoder=cpu:0,decoder=reference:0"}), one);
    EXPECT_EQ(said({"--place", "decoder=cpu:0,encoder=reference:0"}), one);
    for (const char* more : {"--memory=cpu=1GiB", "--stream=always"}) {
        const Outcome o = run(p, {"transcribe", clip, "--model", net, "--place", "encoder=rows:cpu:0+reference:0", more});
        EXPECT_EQ(o.exit_code, 2) << more;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
}

TEST(CliTranscribe, AutoPlacesByWhatWorkCosts) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    const std::string net = network(p);
    const std::string clip = wav(p, "clip.wav", parakeet::random_sound(40000, 3));
    const Outcome one = run(p, {"transcribe", clip, "--model", net, "--device", "cpu"});
    const Outcome o = run(p, {"transcribe", clip, "--model", net, "--place", "auto", "--verbose"}, told);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(o.out, one.out);
    EXPECT_NE(o.err.find("all on cpu:0, done first by what work costs: "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("a batch of the encoder on cpu:0: "), std::string::npos) << o.err;
    const Outcome json = run(p, {"transcribe", clip, "--model", net, "--place", "auto", "--json"}, told);
    const base::Json said = base::Json::parse(json.out);
    EXPECT_EQ(said["place"]["devices"][0], "cpu:0");
    EXPECT_EQ(said["predicted"]["known"], true);
    EXPECT_NE(said["predicted"]["learnt"], 1) << "the run before taught it";
    EXPECT_EQ(said["predicted"]["runs"], 1) << "once, though what was predicted is told with each file and at the end";
    EXPECT_GT(said["predicted"]["seconds"], 0);
    bool decoder = false;
    for (const base::Json& part : said["predicted_parts"])
        if (part["part"] == "a call of the decoder") decoder = part["known"].get<bool>() && part["seconds"] > 0;
    EXPECT_TRUE(decoder) << said["predicted_parts"].dump();
    const Outcome planned = run(p, {"plan", "--model", net, "--seconds", "2", "--place", "auto"}, told);
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_NE(planned.out.find("all on cpu:0, done first by what work costs: "), std::string::npos) << planned.out;
    const Outcome live = run(p, {"transcribe", "-", "--live", "--model", net, "--place", "auto", "--verbose"}, told);
    EXPECT_EQ(live.exit_code, 1) << "nothing comes: " << live.err;
    EXPECT_NE(live.err.find("all on cpu:0, done first by what work costs: "), std::string::npos) << live.err;
}

TEST(CliTranscribe, AutoPutsLayersOnTwoDevicesWhereThatIsDoneFirstAndTheySayTheSame) {
    const Place p;
    const std::string net = network(p);
    const std::string clip = wav(p, "clip.wav", parakeet::random_sound(16000 * 40, 3));
    const std::vector<std::string> same{"--window", "10", "--batch", "1"};
    const auto said = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"transcribe", clip, "--model", net});
        more.insert(more.end(), same.begin(), same.end());
        const Place own;  // what a run teaches is not the next one's
        const Outcome o = run(p, more, told_costs(own, true));
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return o;
    };
    const Outcome one = said({"--device", "cpu"});
    const Outcome two = said({"--place", "auto=cpu:0+reference:0", "--verbose"});
    EXPECT_EQ(two.out, one.out);
    EXPECT_NE(two.err.find(", done first by what work costs: "), std::string::npos) << two.err;
    for (const char* ran : {"encoder ran on cpu:0: ", "encoder ran on reference:0: ", "layers 2 of 2:",
                            "layers 1 of 2 of the encoder on ", "layers 2 of 2 of the encoder on ", " predicted, "})
        EXPECT_NE(two.err.find(ran), std::string::npos) << ran << " is not in: " << two.err;
    const base::Json json = base::Json::parse(said({"--place", "auto=cpu:0+reference:0", "--json"}).out);
    ASSERT_EQ(json["place"]["devices"].size(), 2U) << json["place"].dump();
    EXPECT_GT(json["place"]["shares"][0], 0.1);
    EXPECT_GT(json["place"]["shares"][1], 0.1);
    size_t parts = 0;
    for (const base::Json& part : json["predicted_parts"]) {
        if (part["part"].get<std::string>().find(" of 2 of the encoder") == std::string::npos) continue;
        EXPECT_EQ(part["device"], json["place"]["devices"][parts++]);
        EXPECT_TRUE(part["known"] == true && part["predicted_seconds"] > 0 && part["seconds"] > 0) << part.dump();
    }
    EXPECT_EQ(parts, 2U) << json["predicted_parts"].dump();
    const Outcome named = said({"--place", "encoder=cpu:0+reference:0", "--verbose"});
    EXPECT_NE(named.err.find(" taken; nothing is predicted of layers that are placed by name"), std::string::npos)
        << named.err;
    for (const char* wrong : {"auto=", "auto=cpu:0+", "auto=cpu:0+nothing"}) {
        const Outcome o = run(p, {"transcribe", clip, "--model", net, "--place", wrong});
        EXPECT_NE(o.exit_code, 0) << wrong;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
}

}  // namespace
}  // namespace backplane::e2e
