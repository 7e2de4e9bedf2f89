// What one device does of transcribe's files: windows of like length, of whichever files, go to it together.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backplane/transcriber.hpp"
#include "batch/batch.hpp"
#include "cli/predicted.hpp"
#include "cli/transcribe_choice.hpp"

namespace backplane::cli {

// "3.1 times real time"
std::string times_text(double audio, double took);

// What all devices together have to say at the end.
struct TranscriptionReport {
    std::mutex mutex;
    std::string described, ran;
    CostModel* costs = nullptr;
    bool shown = false;          // somebody reads it
    FitOptions how;              // of what was predicted
    std::function<Json()> runs;  // of the one device that works, now; null: there are several
};

class TranscribeWorker : public batch::Worker {
public:
    TranscribeWorker(const TranscribeChoice& o, std::unique_ptr<Transcriber> transcriber, std::vector<Device> devices,
                     std::string why, Json place, std::vector<double> by_part, TranscriptionReport& report)
        : o_(o),
          transcriber_(std::move(transcriber)),
          devices_(std::move(devices)),
          why_(std::move(why)),
          place_(std::move(place)),
          by_part_(std::move(by_part)),
          report_(report) {}
    ~TranscribeWorker() override;
    TranscribeWorker(const TranscribeWorker&) = delete;
    TranscribeWorker& operator=(const TranscribeWorker&) = delete;

    void serve(batch::Feed& feed) override;

    [[nodiscard]] Json ran() const;  // by part of the network and device, of all files so far

private:
    [[nodiscard]] Json predicted() const;
    // Once, at the end, the model learns: each file is told what had been predicted before.
    [[nodiscard]] std::vector<Predicted> all_predicted(Teaches teaches) const;
    Json written(const batch::Task& task, const Transcript& said, double seconds) const;

    const TranscribeChoice& o_;
    std::unique_ptr<Transcriber> transcriber_;
    std::vector<Device> devices_;
    std::string why_;
    Json place_;
    std::vector<double> by_part_;
    TranscriptionReport& report_;
};

}  // namespace backplane::cli
