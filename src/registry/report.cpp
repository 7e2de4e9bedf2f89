#include <sstream>

#include "backplane/context.hpp"

namespace backplane {

const char* name_of(SourceKind kind) noexcept {
    switch (kind) {
        case SourceKind::application: return "application";
        case SourceKind::environment: return "environment";
        case SourceKind::library_folder: return "library's folder";
        case SourceKind::executable_folder: return "program's folder";
        case SourceKind::installed: return "installed folder";
        case SourceKind::linked_in: return "linked in";
    }
    return "unknown";
}

const char* name_of(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::loaded: return "loaded";
        case Verdict::outranked: return "outranked";
        case Verdict::rejected: return "rejected";
        case Verdict::failed: return "failed";
    }
    return "unknown";
}

const char* name_of(ReasonCode code) noexcept {
    switch (code) {
        case ReasonCode::none: return "none";
        case ReasonCode::not_a_module: return "not-a-module";
        case ReasonCode::truncated: return "truncated";
        case ReasonCode::wrong_architecture: return "wrong-architecture";
        case ReasonCode::abi_mismatch: return "abi-mismatch";
        case ReasonCode::cpu_feature_missing: return "cpu-feature-missing";
        case ReasonCode::library_missing: return "library-missing";
        case ReasonCode::writable_by_others: return "writable-by-others";
        case ReasonCode::wrong_owner: return "wrong-owner";
        case ReasonCode::duplicate: return "duplicate";
        case ReasonCode::outranked: return "outranked";
        case ReasonCode::bad_descriptor: return "bad-descriptor";
        case ReasonCode::unreadable: return "unreadable";
        case ReasonCode::load_failed: return "load-failed";
        case ReasonCode::entry_missing: return "entry-missing";
        case ReasonCode::bad_table: return "bad-table";
        case ReasonCode::open_failed: return "open-failed";
        case ReasonCode::no_devices: return "no-devices";
        case ReasonCode::excluded_by_filter: return "excluded-by-filter";
        case ReasonCode::sanitizer_mismatch: return "sanitizer-mismatch";
        case ReasonCode::quarantined: return "quarantined";
        case ReasonCode::timed_out: return "timed-out";
        case ReasonCode::unloaded: return "unloaded";
        case ReasonCode::executable_stack: return "executable-stack";
        case ReasonCode::too_large: return "too-large";
        case ReasonCode::not_tried: return "not-tried";
        case ReasonCode::library_too_old: return "library-too-old";
    }
    return "unknown";
}

const char* name_of(DeviceKind kind) noexcept {
    switch (kind) {
        case DeviceKind::unknown: return "unknown";
        case DeviceKind::cpu: return "cpu";
        case DeviceKind::integrated: return "integrated";
        case DeviceKind::discrete: return "discrete";
        case DeviceKind::virtual_gpu: return "virtual";
        case DeviceKind::accelerator: return "accelerator";
        case DeviceKind::software: return "software";
    }
    return "unknown";
}

std::string Report::summary() const {
    std::ostringstream text;
    text << why << '\n';
    for (const std::string& note : notes) text << "  note: " << note << '\n';
    text << "searched:\n";
    for (const Source& s : sources)
        text << "  " << (s.path.empty() ? std::string("(in this program)") : s.path.string()) << " [" << name_of(s.kind)
             << "]: " << s.note << '\n';
    text << "modules:\n";
    for (const Candidate& c : candidates) {
        text << "  "
             << (c.path.empty() ? (c.descriptor ? c.descriptor->backend : std::string("?")) + " (linked in)"
                                : c.path.string())
             << ": " << name_of(c.verdict);
        if (!c.reason.empty()) text << ": " << c.reason;
        if (!c.remedy.empty()) text << "; " << c.remedy;
        text << '\n';
    }
    if (candidates.empty()) text << "  none\n";
    text << "devices:\n";
    for (const DeviceInfo& d : devices) {
        text << "  " << d.id << ": " << d.name << " [" << name_of(d.kind) << "]";
        if (!d.warning.empty()) text << ", " << d.warning;
        if (!d.fault.empty()) text << ", " << d.fault;
        text << '\n';
    }
    if (devices.empty()) text << "  none\n";
    return text.str();
}

}  // namespace backplane
