#include "backplane/verify.h"

#include "backplane/verify.hpp"
#include "capi/handles.hpp"

using backplane::Code;
using backplane::Error;
using backplane::VerifyOptions;
using backplane::VerifyResult;
using backplane::capi::guarded;
using backplane::capi::require;
using backplane::capi::write_record;

struct backplane_verification {
    std::vector<VerifyResult> results;
};

namespace {

static_assert(BACKPLANE_CASE_PASSED == VerifyResult::passed && BACKPLANE_CASE_FAILED == VerifyResult::failed &&
              BACKPLANE_CASE_UNSUPPORTED == VerifyResult::unsupported);

backplane_case_result record_of(const VerifyResult& from) {
    backplane_case_result mine{};
    mine.struct_size = sizeof mine;
    mine.status = static_cast<uint32_t>(from.status);
    mine.op = static_cast<uint32_t>(from.op);
    mine.ran = from.ran ? 1 : 0;
    mine.worst = from.worst;
    mine.name = from.name.c_str();
    mine.text = from.text.c_str();
    return mine;
}

VerifyOptions options_from(const backplane_verify_options* options) {
    const backplane_verify_options given = backplane::capi::read_record(options);
    VerifyOptions mine;
    if (given.op != 0) {
        mine.op = static_cast<backplane::Op>(given.op);
        if (backplane::op_from_name(backplane::name_of(*mine.op)) != *mine.op)
            throw Error(Code::invalid, "there is no op " + std::to_string(given.op));
    }
    if (given.name_filter != nullptr) mine.name_filter = given.name_filter;
    mine.cancel = backplane::capi::cancel_of(given.cancel);
    if (given.progress != nullptr)
        mine.progress = [tell = given.progress, arg = given.progress_arg](const VerifyResult& result) {
            const backplane_case_result record = record_of(result);
            tell(arg, &record);
        };
    return mine;
}

}  // namespace

extern "C" {

bp_code backplane_verify(backplane_device* device, const backplane_verify_options* options, backplane_verification** out,
                         bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_verification{backplane::verify(device->device, options_from(options))};
    });
}

void backplane_verification_destroy(backplane_verification* verification) { delete verification; }

bp_code backplane_verification_get_info(const backplane_verification* verification, backplane_verification_info* info,
                                        bp_error* error) {
    return guarded(error, [&] {
        require(verification, "verification");
        require(info, "info");
        backplane_verification_info mine{};
        for (const VerifyResult& result : verification->results) {
            ++mine.cases;
            ++(result.status == VerifyResult::passed   ? mine.passed
               : result.status == VerifyResult::failed ? mine.failed
                                                       : mine.unsupported);
            if (result.status == VerifyResult::passed) mine.worst = std::max(mine.worst, result.worst);
        }
        write_record(mine, info, BP_SIZE(backplane_verification_info, unsupported), "backplane_verification_info");
    });
}

bp_code backplane_verification_get(const backplane_verification* verification, uint32_t i, backplane_case_result* result,
                                   bp_error* error) {
    return guarded(error, [&] {
        require(verification, "verification");
        require(result, "result");
        if (i >= verification->results.size())
            throw Error(Code::not_found, "there is no case " + std::to_string(i) + "; there are " +
                                             std::to_string(verification->results.size()));
        write_record(record_of(verification->results[i]), result, BP_SIZE(backplane_case_result, name),
                     "backplane_case_result");
    });
}

bp_code backplane_verify_names(const backplane_verify_options* options, char* text, size_t capacity, size_t* size,
                               bp_error* error) {
    return guarded(error, [&] {
        backplane::capi::give_text(backplane::capi::lines_of(backplane::verify_names(options_from(options))), text, capacity,
                                   size, "text");
    });
}

}  // extern "C"
