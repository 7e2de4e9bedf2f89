// Parakeet networks out of transformers folders and GGUF files.
#include "backplane/gguf.hpp"
#include "graph/element_types.hpp"
#include "models/parakeet/convert.hpp"
#include "models/parakeet/front_end.hpp"
#include "models/parakeet/layout.hpp"
#include "models/parakeet/model_file.hpp"
#include "parakeet_folder.hpp"

namespace backplane {
namespace {

using parakeet::Config;
using parakeet::ModelFile;
using parakeet::Tensor;

std::string bytes_of(const Tensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

void expect_refused(ParakeetFolder& folder, const std::string& about, Code code = Code::corrupt) {
    expect_error([&] { ModelFile::open(folder.write()); }, code, about);
}

TEST(ParakeetFile, TheNetworkThatTheRepositoryCarriesIsWhatItsCardSays) {
    const std::filesystem::path path = std::filesystem::path(BP_OWN_MODELS) / "parakeet-mini" / "parakeet-mini-q8_0.gguf";
    EXPECT_LT(std::filesystem::file_size(path), 9'000'000U);
    const ModelFile model = ModelFile::open(path);
    const Config& config = model.config();
    EXPECT_EQ(config.encoder.layers, 8);
    EXPECT_EQ(config.encoder.d_model, 192);
    EXPECT_TRUE(config.encoder.xscaling);
    EXPECT_TRUE(config.ctc);
    ASSERT_TRUE(config.transducer);
    EXPECT_EQ(config.transducer->pred_hidden, 192);
    EXPECT_EQ(config.transducer->durations, (std::vector<int64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(config.vocab_size, 352);
    EXPECT_EQ(model.at("encoder.layers.7.feed_forward1.linear1.weight").dtype, DType::q8_0);
    EXPECT_EQ(model.text_of(std::vector<int32_t>{32, 60, 242, 67}), "and he said");
}

TEST(ParakeetFile, AFolderGivesItsConfigurationAndTensorsByTheNamesOfNemo) {
    ParakeetFolder folder;
    const ModelFile model = ModelFile::open(folder.write());
    const Config& config = model.config();
    EXPECT_EQ(config.encoder.mels, 10);
    EXPECT_EQ(config.encoder.d_model, 32);
    EXPECT_EQ(config.encoder.layers, 2);
    EXPECT_EQ(config.encoder.subsampled_mels(), 2);
    EXPECT_FALSE(config.encoder.xscaling);
    EXPECT_EQ(config.preprocessor.win_length, 320);
    EXPECT_EQ(config.preprocessor.preemphasis, 0.95F);
    EXPECT_EQ(config.vocab_size, 8);
    EXPECT_EQ(config.blank_id, 8);
    EXPECT_TRUE(config.ctc);
    EXPECT_FALSE(config.transducer);
    const std::map<std::string, std::string> names{
        {"encoder.pre_encode.conv.5.weight", "encoder.subsampling.layers.5.weight"},
        {"encoder.pre_encode.out.bias", "encoder.subsampling.linear.bias"},
        {"encoder.layers.1.self_attn.linear_out.weight", "encoder.layers.1.self_attn.o_proj.weight"},
        {"encoder.layers.1.self_attn.linear_pos.weight", "encoder.layers.1.self_attn.relative_k_proj.weight"},
        {"encoder.layers.0.self_attn.pos_bias_v", "encoder.layers.0.self_attn.bias_v"},
        {"encoder.layers.0.conv.batch_norm.running_var", "encoder.layers.0.conv.norm.running_var"},
        {"encoder.layers.0.norm_out.weight", "encoder.layers.0.norm_out.weight"},
        {"ctc_decoder.decoder_layers.0.weight", "ctc_head.weight"}};
    for (const auto& [nemo, transformers] : names)
        EXPECT_EQ(bytes_of(model.at(nemo)), folder.at(transformers).bytes) << nemo;
    EXPECT_EQ(model.at("ctc_decoder.decoder_layers.0.weight").shape, (Shape{9, 32}));
    EXPECT_EQ(model.at("encoder.layers.0.conv.pointwise_conv1.weight").shape, (Shape{64, 32}));
    EXPECT_EQ(model.at("encoder.pre_encode.conv.3.weight").shape, (Shape{6, 6}));
    EXPECT_EQ(model.find("joint.enc.weight"), nullptr);
    expect_error([&] { static_cast<void>(model.at("joint.enc.weight")); }, Code::not_found, "joint.enc.weight");
}

TEST(ParakeetFile, TransducersHaveTheirNetworksAndDurations) {
    ParakeetFolder tdt(FolderHead::tdt), rnnt(FolderHead::rnnt);
    const ModelFile with = ModelFile::open(tdt.write()), without = ModelFile::open(rnnt.write());
    EXPECT_EQ(with.config().transducer->durations, (std::vector<int64_t>{0, 1, 2}));
    EXPECT_EQ(with.config().transducer->max_symbols, 7);
    EXPECT_EQ(with.config().transducer->pred_layers, 2);
    EXPECT_TRUE(without.config().transducer->durations.empty());
    EXPECT_FALSE(with.config().ctc);
    EXPECT_EQ(with.at("joint.joint_net.2.weight").shape, (Shape{12, 32}));
    EXPECT_EQ(without.at("joint.joint_net.2.weight").shape, (Shape{9, 32}));
    EXPECT_EQ(bytes_of(with.at("decoder.prediction.dec_rnn.lstm.weight_hh_l1")), tdt.at("decoder.lstm.weight_hh_l1").bytes);
    EXPECT_EQ(bytes_of(with.at("joint.pred.bias")), tdt.at("decoder.decoder_projector.bias").bytes);
    // A CTC head beside a transducer makes a hybrid.
    ParakeetFolder ctc, hybrid(FolderHead::tdt);
    for (const char* const name : {"ctc_head.weight", "ctc_head.bias"}) hybrid.tensors.emplace_back(name, ctc.at(name));
    EXPECT_TRUE(ModelFile::open(hybrid.write()).config().ctc);
}

TEST(ParakeetFile, ShardsAreReadAsOneFile) {
    ParakeetFolder whole, parts;
    {
        const ModelFile a = ModelFile::open(whole.write()), b = ModelFile::open(parts.write_sharded());
        ASSERT_EQ(a.tensors().size(), b.tensors().size());
        for (size_t i = 0; i < a.tensors().size(); ++i) EXPECT_EQ(bytes_of(a.tensors()[i]), bytes_of(b.tensors()[i]));
    }  // Windows removes no file that is mapped
    std::filesystem::remove(parts / "model-2.safetensors");
    expect_error([&] { ModelFile::open(parts.write_sharded().parent_path() / "none"); }, Code::not_found, "none");
    std::filesystem::remove(parts / "model-2.safetensors");
    const std::filesystem::path folder = (parts / "x").parent_path();
    expect_error([&] { ModelFile::open(folder); }, Code::not_found, "model-2.safetensors");
    write_file(parts / "model-2.safetensors", safetensors({}));
    expect_error([&] { ModelFile::open(folder); }, Code::corrupt, "is in none of the files");
    write_file(parts / "model.safetensors.index.json", R"({"weight_map":{"a":"../b.safetensors"}})");
    expect_error([&] { ModelFile::open(folder); }, Code::corrupt, "not the name of a file beside it");
    write_file(parts / "model.safetensors.index.json", R"({"weight_map":[1]})");
    expect_error([&] { ModelFile::open(folder); }, Code::corrupt, "weight_map");
}

TEST(ParakeetFile, TheNameOfTheWeightsStandsForTheirFolder) {
    ParakeetFolder whole, parts;
    const ModelFile folder = ModelFile::open(whole.write());
    parts.write_sharded();
    for (const std::filesystem::path& path : {whole / "model.safetensors", parts / "model.safetensors.index.json"}) {
        const ModelFile model = ModelFile::open(path);
        EXPECT_EQ(model.config().encoder, folder.config().encoder);
        EXPECT_EQ(model.config().name, path.parent_path().filename().string());
        EXPECT_EQ(model.pieces(), folder.pieces());
        ASSERT_EQ(model.tensors().size(), folder.tensors().size());
        for (size_t i = 0; i < model.tensors().size(); ++i)
            EXPECT_EQ(bytes_of(model.tensors()[i]), bytes_of(folder.tensors()[i]));
    }
    expect_error([&] { ModelFile::open(whole / "other.safetensors"); }, Code::not_found, "other.safetensors");
    // What the folder lacks is said of the file that is missing, not of the weights.
    std::filesystem::remove(whole / "config.json");
    expect_error([&] { ModelFile::open(whole / "model.safetensors"); }, Code::not_found, "config.json");
}

TEST(ParakeetFile, BytesOffTheirAlignmentAreCopied) {
    ParakeetFolder folder;
    const ModelFile even = ModelFile::open(folder.write());
    for (const size_t padding : {3, 5, 7, 11}) {
        ParakeetFolder other;
        other.padding = padding;
        const ModelFile odd = ModelFile::open(other.write());
        for (const Tensor& tensor : odd.tensors()) {
            EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % 4, 0U) << tensor.name;
            EXPECT_EQ(bytes_of(tensor), bytes_of(even.at(tensor.name))) << tensor.name;
        }
    }
}

TEST(ParakeetFile, ATensorThatIsMissingOrOfAnotherShapeOrTypeIsNamed) {
    ParakeetFolder folder;
    const FolderTensor kept = folder.at("encoder.layers.1.self_attn.q_proj.weight");
    folder.at("encoder.layers.1.self_attn.q_proj.weight").shape = {16, 64};
    expect_refused(folder,
                   "'encoder.layers.1.self_attn.q_proj.weight' is [16, 64]; by its configuration it must be [32, 32]");
    folder.at("encoder.layers.1.self_attn.q_proj.weight") = {"F64", {32, 16}, kept.bytes};
    expect_refused(folder, "must be [32, 32]");
    folder.at("encoder.layers.1.self_attn.q_proj.weight") = {"I32", {32, 32}, kept.bytes};
    expect_refused(folder, "is stored as 'I32', which is not supported", Code::unsupported);
    folder.remove("encoder.layers.1.self_attn.q_proj.weight");
    expect_refused(folder, "'encoder.layers.1.self_attn.q_proj.weight' is missing; it must be [32, 32]");
}

TEST(ParakeetFile, BiasesAreThereOrNotAsTheConfigurationSays) {
    ParakeetFolder folder;
    folder.encoder["attention_bias"] = false;
    expect_refused(folder, "biases of attention without those of convolutions", Code::unsupported);
    folder.encoder["convolution_bias"] = false;
    expect_refused(folder, "says that it has no biases, but has tensor 'encoder.layers.0.feed_forward1.linear1.bias'");
    std::erase_if(folder.tensors, [](const auto& item) {
        const std::string& name = item.first;
        return name.ends_with(".bias") &&
               (name.find("linear") != std::string::npos || name.find("_proj.") != std::string::npos ||
                name.find("wise_conv") != std::string::npos) &&
               name.find("subsampling") == std::string::npos;
    });
    const ModelFile model = ModelFile::open(folder.write());
    EXPECT_FALSE(model.config().encoder.use_bias);
    EXPECT_EQ(model.find("encoder.layers.0.self_attn.linear_q.bias"), nullptr);
    EXPECT_NE(model.find("encoder.layers.0.norm_conv.bias"), nullptr);
    // A GGUF file may leave the key out.
    parakeet::write_gguf(model, DType::f32, folder / "a.gguf");
    EXPECT_EQ(ModelFile::open(folder / "a.gguf").config(), model.config());
}

TEST(ParakeetFile, ConfigurationsThatDoNotFitTogetherAreRefused) {
    const auto refused = [](const std::function<void(ParakeetFolder&)>& change, const char* about,
                            Code code = Code::corrupt) {
        ParakeetFolder folder;
        change(folder);
        expect_refused(folder, about, code);
    };
    using Folder = ParakeetFolder&;
    refused([](Folder f) { f.config["model_type"] = "whisper"; }, "'whisper'", Code::unsupported);
    refused([](Folder f) { f.config.erase("model_type"); }, "'model_type' is missing");
    refused([](Folder f) { f.encoder.erase("hidden_size"); }, "'hidden_size' is missing");
    refused([](Folder f) { f.encoder["hidden_size"] = -1; }, "'hidden_size': it is no whole number");
    refused([](Folder f) { f.encoder["hidden_size"] = 0; }, "width of the encoder is 0");
    refused([](Folder f) { f.encoder["hidden_size"] = 33; }, "33");
    refused([](Folder f) { f.encoder["num_attention_heads"] = 5; }, "5 heads do not divide a width of 32");
    refused([](Folder f) { f.encoder["num_hidden_layers"] = 2000000000; }, "number of layers is 2000000000");
    refused([](Folder f) { f.encoder["conv_kernel_size"] = 4; }, "kernel of 4 has no middle");
    refused([](Folder f) { f.encoder["subsampling_factor"] = 6; }, "6 is no power of two");
    refused([](Folder f) { f.encoder["hidden_act"] = "gelu"; }, "'gelu'", Code::unsupported);
    refused([](Folder f) { f.encoder["num_mel_bins"] = 80; }, "it gives 10 features, the encoder takes 80");
    refused([](Folder f) { f.config["pad_token_id"] = 0; }, "blank is id 0 of 8 pieces", Code::unsupported);
    refused([](Folder f) { f.config["vocab_size"] = 0; }, "'vocab_size'");
    refused([](Folder f) { f.processor["feature_extractor"]["win_length"] = 1024; }, "length of a window is 1024");
    ParakeetFolder tdt(FolderHead::tdt);
    tdt.config["durations"] = std::vector<int64_t>{0, 0, 0};
    expect_refused(tdt, "all durations are 0");
    tdt.config["durations"] = Json::array();
    expect_refused(tdt, "'durations': it is empty");
}

TEST(ParakeetFile, ATokenizerThatLiesIsOneClearLine) {
    const auto refused = [](const std::function<void(Json&)>& change, const std::string& about, Code code = Code::corrupt) {
        ParakeetFolder folder;
        change(folder.tokenizer);
        expect_refused(folder, about, code);
    };
    refused([](Json& t) { t["model"]["vocab"].erase("lo"); }, "id 3 has no piece");
    refused([](Json& t) { t["model"]["vocab"]["lo"] = 2; }, "id 2 is both 'l' and 'lo'");
    refused([](Json& t) { t["model"]["vocab"]["more"] = 9; }, "id 9, the network gives ids 0 to 8");
    refused([](Json& t) { t["model"]["vocab"]["lo"] = -3; }, "piece 'lo'");
    refused([](Json& t) { t["model"]["vocab"]["lo"] = "3"; }, "piece 'lo'");
    refused([](Json& t) { t["model"]["vocab"][""] = 3; }, "id 3 is both");
    refused([](Json& t) { t["added_tokens"][0]["content"] = "other"; }, "id 0 is both '<unk>' and 'other'");
    refused([](Json& t) { t["added_tokens"][0].erase("id"); }, "'id' is missing");
    refused([](Json& t) { t["model"]["type"] = "WordPiece"; }, "'WordPiece'", Code::unsupported);
    refused([](Json& t) { t["decoder"] = {{"type", "ByteLevel"}}; }, "ByteLevel", Code::unsupported);
    refused([](Json& t) { t.erase("model"); }, "'model' is missing");
    refused([](Json& t) { t["model"]["vocab"] = 7; }, "no array");
    ParakeetFolder folder;
    folder.write();
    write_file(folder / "tokenizer.json", "{\"model\":");
    expect_error([&] { ModelFile::open((folder / "x").parent_path()); }, Code::corrupt, "tokenizer.json");
    std::filesystem::remove(folder / "tokenizer.json");
    expect_error([&] { ModelFile::open((folder / "x").parent_path()); }, Code::not_found, "tokenizer.json");
}

TEST(ParakeetFile, IdsBecomeText) {
    ParakeetFolder folder;
    const ModelFile model = ModelFile::open(folder.write());
    const auto text = [&](const std::vector<int32_t>& ids) { return model.text_of(ids); };
    EXPECT_EQ(text({}), "");
    EXPECT_EQ(text({1, 2, 3, 4, 5}), "hello world");
    EXPECT_EQ(text({8, 0, 4, 0, 5, 8}), "world");       // blank and <unk> are no text
    EXPECT_EQ(text({1, 6, 7, 5}), "he\u00e9ld");        // bytes of one letter
    EXPECT_EQ(text({1, 6, 5, 7}), "he\ufffdld\ufffd");  // a letter torn apart
    expect_error([&] { text({9}); }, Code::invalid, "id 9 is none of 8 pieces");
    expect_error([&] { text({-1}); }, Code::invalid, "id -1");
    // Unigram: a list of pieces and scores.
    Json list = Json::array();
    for (const std::string& piece : model.pieces()) list.push_back(Json::array({piece, -1.5}));
    folder.tokenizer["model"] = {{"type", "Unigram"}, {"vocab", list}};
    EXPECT_EQ(ModelFile::open(folder.write()).pieces(), model.pieces());
}

TEST(ParakeetGguf, IsTheSameNetworkAsTheFolderThatItIsWrittenFrom) {
    for (const FolderHead head : {FolderHead::ctc, FolderHead::rnnt, FolderHead::tdt}) {
        ParakeetFolder folder(head);
        const ModelFile from = ModelFile::open(folder.write());
        parakeet::write_gguf(from, DType::f32, folder / "a.gguf");
        const ModelFile to = ModelFile::open(folder / "a.gguf");
        EXPECT_EQ(to.config(), from.config());
        EXPECT_EQ(to.pieces(), from.pieces());
        ASSERT_EQ(to.tensors().size(), from.tensors().size() + 2);  // filters and window of the features
        for (const Tensor& tensor : from.tensors()) {
            EXPECT_EQ(to.at(tensor.name).shape, tensor.shape) << tensor.name;
            EXPECT_EQ(bytes_of(to.at(tensor.name)), bytes_of(tensor)) << tensor.name;
        }
        // As the schema has them: extents of 1 stay, and the head of a network of CTC alone has another name.
        const GgufFile file = GgufFile::open(folder / "a.gguf");
        EXPECT_EQ(file.find_tensor("encoder.layers.0.conv.pointwise_conv2.weight")->shape, (Shape{32, 32, 1}));
        EXPECT_EQ(file.find_tensor("encoder.pre_encode.conv.3.weight")->shape, (Shape{6, 6, 1, 1}));
        EXPECT_EQ(file.find_tensor("decoder.decoder_layers.0.weight") != nullptr, head == FolderHead::ctc);
        EXPECT_EQ(file.text("parakeet.arch"), head == FolderHead::ctc ? "ctc" : head == FolderHead::tdt ? "tdt" : "rnnt");
        EXPECT_EQ(std::get<double>(*file.find("parakeet.preprocessor.preemph")), 0.95F);
    }
}

// What the tensor holds, as numbers.
std::vector<double> numbers_of(const ModelFile& model, std::string_view name) {
    return graph::decode(model.at(name).bytes, model.at(name).dtype);
}

// A copy of a GGUF file, each number of the filters and of the window doubled.
void double_features(const std::filesystem::path& path, const std::filesystem::path& copy) {
    const GgufFile from = GgufFile::open(path);
    GgufWriter to;
    for (const auto& [key, value] : from.metadata()) to.set(key, value);
    std::vector<std::vector<std::byte>> held;
    for (const GgufTensor& tensor : from.tensors()) {
        std::vector<double> values = graph::decode(from.data(tensor.name), tensor.dtype);
        if (tensor.name.starts_with("preprocessor."))
            for (double& value : values) value *= 2;
        held.push_back(graph::encode(values, tensor.dtype));
        to.add(tensor.name, tensor.dtype, tensor.shape, held.back());
    }
    to.write(copy);
}

TEST(ParakeetGguf, CarriesTheFiltersAndTheWindowOfTheFeatures) {
    ParakeetFolder folder;
    const ModelFile from = ModelFile::open(folder.write());
    EXPECT_EQ(from.find(parakeet::kFiltersTensor), nullptr);
    parakeet::write_gguf(from, DType::q8_0, folder / "a.gguf");
    const parakeet::PreprocessorConfig& p = from.config().preprocessor;
    const std::vector<float> filters = parakeet::slaney_filters(p, 10), window = parakeet::hann(p.win_length);
    const ModelFile to = ModelFile::open(folder / "a.gguf");
    EXPECT_EQ(to.at(parakeet::kFiltersTensor).shape, (Shape{10, p.n_fft / 2 + 1}));
    EXPECT_EQ(numbers_of(to, parakeet::kFiltersTensor), std::vector<double>(filters.begin(), filters.end()));
    EXPECT_EQ(numbers_of(to, parakeet::kWindowTensor), std::vector<double>(window.begin(), window.end()));
    // Those that a file has are kept, and not made anew.
    double_features(folder / "a.gguf", folder / "b.gguf");
    parakeet::write_gguf(ModelFile::open(folder / "b.gguf"), DType::f16, folder / "c.gguf");
    const ModelFile doubled = ModelFile::open(folder / "c.gguf");
    for (const char* const name : {parakeet::kFiltersTensor, parakeet::kWindowTensor}) {
        EXPECT_EQ(doubled.at(name).dtype, DType::f32);
        std::vector<double> expected = numbers_of(to, name);
        for (double& value : expected) value *= 2;
        EXPECT_EQ(numbers_of(doubled, name), expected) << name;
    }
}

TEST(ParakeetGguf, MatricesAreStoredAsToldAndTheRestAsF32) {
    ParakeetFolder folder(FolderHead::tdt);
    const ModelFile from = ModelFile::open(folder.write());
    for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q5_0, DType::q4_0}) {
        parakeet::write_gguf(from, dtype, folder / "a.gguf");
        const ModelFile to = ModelFile::open(folder / "a.gguf");
        EXPECT_EQ(to.config(), from.config());
        for (const Tensor& tensor : from.tensors()) {
            const Tensor& stored = to.at(tensor.name);
            EXPECT_EQ(stored.shape, tensor.shape) << tensor.name;
            const bool vector = tensor.shape.size() == 1 || tensor.name.find("pos_bias") != std::string::npos;
            const bool kernel = tensor.shape.size() > 2;
            const bool blocks = is_block(dtype) && tensor.shape.back() % 32 != 0;
            EXPECT_EQ(stored.dtype, vector || kernel ? DType::f32 : blocks ? DType::f16 : dtype) << tensor.name;
            const std::vector<double> a = graph::decode(tensor.bytes, tensor.dtype),
                                      b = graph::decode(stored.bytes, stored.dtype);
            for (size_t i = 0; i < a.size(); ++i)
                ASSERT_NEAR(a[i], b[i], dtype == DType::q4_0 ? 0.14 : dtype == DType::q5_0 ? 0.07 : 0.005) << tensor.name;
        }
    }
    expect_error([&] { parakeet::write_gguf(from, DType::q2_k, folder / "b.gguf"); }, Code::invalid, "q2_k");
    EXPECT_FALSE(std::filesystem::exists(folder / "b.gguf"));
}

// The network of the repository has rows of 192 and of 768.
TEST(ParakeetGguf, RowsThatAreNoWholeBlocksOf256BecomeBlocksOf32AndItSaysSo) {
    const TemporaryFolder folder;
    const ModelFile from = ModelFile::open(std::filesystem::path(BP_OWN_MODELS) / "parakeet-mini/parakeet-mini-q8_0.gguf");
    const std::vector<std::string> notes = parakeet::write_gguf(from, DType::q4_k, folder / "a.gguf");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0], "81 of 98 matrices are q5_0: their rows, of 192 numbers for one, are no whole blocks of q4_k (256)");
    const ModelFile to = ModelFile::open(folder / "a.gguf");
    EXPECT_EQ(to.at("encoder.layers.0.feed_forward1.linear1.weight").dtype, DType::q5_0);
    const Tensor& wide = to.at("encoder.layers.0.feed_forward1.linear2.weight");
    EXPECT_EQ(wide.dtype, DType::q4_k);
    const std::vector<double> a = numbers_of(from, wide.name), b = numbers_of(to, wide.name);
    double off = 0, all = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        all += a[i] * a[i];
    }
    EXPECT_LT(std::sqrt(off / all), 0.08);
    // What is of the type already is not rounded a second time.
    EXPECT_EQ(parakeet::write_gguf(to, DType::q4_k, folder / "b.gguf"), notes);
    const ModelFile again = ModelFile::open(folder / "b.gguf");
    for (const Tensor& tensor : to.tensors())
        EXPECT_TRUE(std::ranges::equal(tensor.bytes, again.at(tensor.name).bytes)) << tensor.name;
}

TEST(ParakeetGguf, WeightsThatAreNoNumbersAreNotConverted) {
    ParakeetFolder folder;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(folder.at("encoder.layers.1.norm_out.weight").bytes.data(), &nan, sizeof nan);
    const ModelFile from = ModelFile::open(folder.write());
    expect_error([&] { parakeet::write_gguf(from, DType::f16, folder / "a.gguf"); }, Code::corrupt,
                 "'encoder.layers.1.norm_out.weight' holds values that are no finite numbers");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.gguf"));
}

TEST(ParakeetGguf, BlocksOfOtherToolsAreTakenForMatricesAndForNothingElse) {
    ParakeetFolder folder;
    parakeet::write_gguf(ModelFile::open(folder.write()), DType::f32, folder / "a.gguf");
    const GgufFile from = GgufFile::open(folder / "a.gguf");
    const auto with_blocks = [&](const std::string& name, DType dtype) {
        std::mt19937 random(1);
        const Shape& shape = from.find_tensor(name)->shape;
        const std::vector<std::byte> blocks = graph::random_blocks(
            dtype, static_cast<size_t>(elements(shape)), 1, [&] { return std::uniform_real_distribution<>(0, 1)(random); });
        GgufWriter to;
        for (const auto& [key, value] : from.metadata()) to.set(key, value);
        for (const GgufTensor& tensor : from.tensors()) {
            const bool changed = tensor.name == name;
            to.add(tensor.name, changed ? dtype : tensor.dtype, tensor.shape, changed ? blocks : from.data(tensor.name));
        }
        to.write(folder / "b.gguf");
        const ModelFile model = ModelFile::open(folder / "b.gguf");
        EXPECT_EQ(model.at(name).dtype, dtype);
        EXPECT_TRUE(std::equal(blocks.begin(), blocks.end(), model.at(name).bytes.begin(), model.at(name).bytes.end()));
    };
    for (const DType dtype : {DType::q8_0, DType::q6_k, DType::q5_k, DType::q5_0, DType::q4_k, DType::q4_0})
        with_blocks("encoder.layers.1.feed_forward2.linear2.weight", dtype);
    expect_error([&] { with_blocks("encoder.layers.1.norm_out.weight", DType::q8_0); }, Code::unsupported,
                 "tensor 'encoder.layers.1.norm_out.weight' is stored as 'q8_0', which is not supported for it");
}

// The GGUF file of a folder with its metadata changed.
class ChangedGguf {
public:
    ChangedGguf() { parakeet::write_gguf(ModelFile::open(folder_.write()), DType::f32, folder_ / "a.gguf"); }
    void expect_refused(const std::string& key, const GgufValue* value, const std::string& about,
                        Code code = Code::corrupt) {
        const GgufFile from = GgufFile::open(folder_ / "a.gguf");
        GgufWriter to;
        for (const auto& [name, old] : from.metadata())
            if (name != key) to.set(name, old);
        if (value != nullptr) to.set(key, *value);
        for (const GgufTensor& tensor : from.tensors())
            to.add(tensor.name, tensor.dtype, tensor.shape, from.data(tensor.name));
        to.write(folder_ / "b.gguf");
        expect_error([&] { ModelFile::open(folder_ / "b.gguf"); }, code, about);
    }
    void expect_refused(const std::string& key, const GgufValue& value, const std::string& about,
                        Code code = Code::corrupt) {
        expect_refused(key, &value, about, code);
    }

private:
    ParakeetFolder folder_;
};

TEST(ParakeetGguf, MetadataThatIsMissingOrAnotherNetworksIsNamed) {
    ChangedGguf file;
    const auto text = [](const char* value) { return GgufValue(std::string(value)); };
    file.expect_refused("general.architecture", text("esrgan"), "it holds a network of architecture 'esrgan'",
                        Code::unsupported);
    file.expect_refused("general.architecture", nullptr, "'general.architecture' is missing");
    file.expect_refused("parakeet.arch", text("canary"), "'canary'", Code::unsupported);
    file.expect_refused("parakeet.encoder.d_model", nullptr, "'parakeet.encoder.d_model' is missing");
    file.expect_refused("parakeet.encoder.d_model", text("32"), "is not a whole number");
    file.expect_refused("parakeet.encoder.d_model", int64_t{34}, "heads do not divide a width of 34");
    file.expect_refused("parakeet.encoder.d_model", int64_t{64}, "by its configuration it must be [64, 12]");
    file.expect_refused("parakeet.encoder.xscaling", int64_t{1}, "neither true nor false");
    file.expect_refused("parakeet.encoder.conv_norm_type", text("group_norm"), "'group_norm'", Code::unsupported);
    file.expect_refused("parakeet.encoder.att_context_style", text("chunked_limited"), "streaming network",
                        Code::unsupported);
    file.expect_refused("parakeet.prompt.present", true, "language as prompt", Code::unsupported);
    file.expect_refused("parakeet.preprocessor.n_mels", int64_t{80}, "takes 10 features, its preprocessor gives 80");
    file.expect_refused("parakeet.preprocessor.preemph", std::numeric_limits<double>::quiet_NaN(), "no finite number");
    file.expect_refused("parakeet.preprocessor.preemph", text("0.97"), "no number");
    file.expect_refused("parakeet.preprocessor.normalize", text("all_features"), "'all_features'", Code::unsupported);
    file.expect_refused("parakeet.vocab_size", int64_t{7}, "blank is id 8 of 7 pieces", Code::unsupported);
    using Texts = std::vector<std::string>;
    file.expect_refused("parakeet.tokenizer.pieces", Texts{"a", "b"}, "there are 2, the network gives 8");
    file.expect_refused("parakeet.tokenizer.pieces", Texts{"a", "b", "c", "d", "e", "f", "", "h"}, "piece 6 is empty");
    file.expect_refused("parakeet.tokenizer.pieces", Texts{"a", "b", "\xff", "d", "e", "f", "g", "h"},
                        "piece 2, '?', is no UTF-8");
    file.expect_refused("parakeet.tokenizer.pieces", nullptr, "'parakeet.tokenizer.pieces' is missing");
}

}  // namespace
}  // namespace backplane
