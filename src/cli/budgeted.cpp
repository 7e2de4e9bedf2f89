#include "cli/budgeted.hpp"

#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <span>

#include "base/elapsed.hpp"
#include "cli/bench_stream_network.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"
#include "cli/random_file.hpp"
#include "models/parakeet/recognizer.hpp"

namespace backplane::cli {

namespace {

using parakeet::Recognizer;
using Clock = std::chrono::steady_clock;

// The file that was saved before, or one that is made now.
parakeet::ModelFile opened(const StreamedNetworkChoice& o, std::unique_ptr<RandomFile>& random) {
    if (!o.save.empty() && std::filesystem::exists(base::path_of(o.save)))
        return parakeet::ModelFile::open(base::path_of(o.save));
    random = std::make_unique<RandomFile>(o.network, DType::f16, o.save);
    return parakeet::ModelFile::open(random->path());
}

class Speech : public Budgeted {
public:
    Speech(const StreamedNetworkChoice& o, const Device& device, const std::atomic<uint32_t>* cancel)
        : batch_(o.batch), seconds_(o.seconds), device_(device), cancel_(cancel), file_(opened(o, random_)) {
        for (int64_t k = 0; k < o.batch; ++k)
            clips_.push_back(parakeet::random_sound(
                static_cast<size_t>(o.seconds * static_cast<double>(file_.config().preprocessor.sample_rate)),
                static_cast<unsigned>(k)));
        spans_.assign(clips_.begin(), clips_.end());
    }

    [[nodiscard]] std::string name() const override { return file_.config().name + " in f16"; }
    [[nodiscard]] std::string input() const override {
        return std::to_string(batch_) + " x " + std::to_string(static_cast<int64_t>(seconds_)) + " s";
    }
    [[nodiscard]] std::vector<Fit> ways(const FitOptions& how) const override {
        return made().ways(batch_, clips_[0].size(), how);
    }
    void begin(const Fit& way) override {
        recognizer_.emplace(made());
        recognizer_->keep_to(way, batch_, clips_[0].size());
    }
    std::vector<std::byte> pass() override {
        std::vector<std::byte> got;
        recognizer_->encode(spans_, cancel_, &got);
        return got;
    }
    // As transcribe has them. With several under way when one is seen to end says little of it: of stretches of passes, what one took.
    std::vector<double> times(int passes) override {
        const int stretch = recognizer_->at_a_time() == 1 ? 1 : 5;
        std::vector<double> all;
        std::deque<Recognizer::Batch> under_way;
        const auto start_one = [&] { under_way.push_back(recognizer_->start(spans_, cancel_)); };
        while (under_way.size() + 1 < recognizer_->at_a_time()) start_one();
        while (static_cast<int>(all.size()) * stretch < passes) {
            const auto start = Clock::now();
            for (int k = 0; k < stretch; ++k) {
                start_one();
                recognizer_->finish_encoder(under_way.front());
                under_way.pop_front();
            }
            all.push_back(base::seconds_since(start) * 1e3 / stretch);
        }
        for (Recognizer::Batch& batch : under_way) recognizer_->finish_encoder(batch);
        return all;
    }
    [[nodiscard]] uint64_t in_place() const override { return 0; }
    void end() override { recognizer_.reset(); }

private:
    [[nodiscard]] Recognizer made() const { return {{device_}, file_, DType::f16, parakeet::Head::transducer}; }

    int64_t batch_;
    double seconds_;
    Device device_;
    const std::atomic<uint32_t>* cancel_;
    std::unique_ptr<RandomFile> random_;
    parakeet::ModelFile file_;
    std::vector<std::vector<float>> clips_;
    std::vector<std::span<const float>> spans_;
    std::optional<Recognizer> recognizer_;
};

StoredModelChoice stored(const std::string& name) {
    StoredModelChoice choice;
    choice.model = name;
    return choice;
}

class Picture : public Budgeted {
public:
    Picture(const StreamedNetworkChoice& o, const Device& device, const std::atomic<uint32_t>* cancel)
        : size_(o.size),
          device_(device),
          cancel_(cancel),
          model_(open_model(stored(o.network))),
          graph_(model_.graph(o.size, o.size)) {
        const TensorInfo& in = graph_[graph_.with_role(Role::input).front()];
        std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same picture each time
        picture_.resize(static_cast<size_t>(bytes(DType::f32, in.shape)) / sizeof(float));
        for (float& p : picture_) p = static_cast<float>(random() % 256) / 255;
    }

    [[nodiscard]] std::string name() const override { return model_.name() + " in f32"; }
    [[nodiscard]] std::string input() const override {
        return std::to_string(size_) + " x " + std::to_string(size_) + " pixels";
    }
    [[nodiscard]] std::vector<Fit> ways(const FitOptions& how) const override { return fits({device_}, graph_, how); }
    void begin(const Fit& way) override {
        end();
        SessionOptions options;
        options.budget = way.streamed ? way.budget : 0;
        options.streaming = way.streamed ? Streaming::automatic : Streaming::never;
        weights_.emplace(model_.weights());
        session_.emplace(std::vector<Device>{device_}, graph_, *weights_, options);
    }
    std::vector<std::byte> pass() override {
        run();
        return large_;
    }
    std::vector<double> times(int passes) override {
        std::vector<double> all;
        for (; passes > 0; --passes) {
            const auto start = Clock::now();
            run();
            all.push_back(base::seconds_since(start) * 1e3);
        }
        return all;
    }
    [[nodiscard]] uint64_t in_place() const override { return weights_->bytes_in_place(device_); }
    void end() override {
        session_.reset();
        weights_.reset();
    }

private:
    void run() {
        const TensorInfo& in = graph_[graph_.with_role(Role::input).front()];
        const TensorInfo& out = graph_[graph_.with_role(Role::output).front()];
        large_.resize(static_cast<size_t>(bytes(DType::f32, out.shape)));
        session_->run({{in.name, std::as_bytes(std::span(picture_))}}, {{out.name, large_}}, cancel_);
    }

    int64_t size_;
    Device device_;
    const std::atomic<uint32_t>* cancel_;
    Esrgan model_;
    Graph graph_;
    std::optional<Weights> weights_;
    std::vector<float> picture_;
    std::vector<std::byte> large_;
    std::optional<Session> session_;
};

}  // namespace

std::unique_ptr<Budgeted> budgeted_speech(const StreamedNetworkChoice& choice, const Device& device,
                                          const std::atomic<uint32_t>* cancel) {
    return std::make_unique<Speech>(choice, device, cancel);
}
std::unique_ptr<Budgeted> budgeted_picture(const StreamedNetworkChoice& choice, const Device& device,
                                           const std::atomic<uint32_t>* cancel) {
    return std::make_unique<Picture>(choice, device, cancel);
}

}  // namespace backplane::cli
