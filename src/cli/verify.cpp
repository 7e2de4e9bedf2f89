#include "backplane/verify.hpp"

#include <map>

#include "cli/cli.hpp"

namespace backplane::cli {

namespace {

struct VerifyChoice {
    DeviceChoice choice;
    std::string op, name;
    bool all = false;
};

struct Counts {
    int passed = 0, failed = 0, unsupported = 0;
    double worst = 0;
};

void add(Counts& counts, const VerifyResult& r) {
    (r.status == VerifyResult::passed   ? counts.passed
     : r.status == VerifyResult::failed ? counts.failed
                                        : counts.unsupported) += 1;
    if (r.status == VerifyResult::passed && r.worst > counts.worst) counts.worst = r.worst;
}

int verify_device(const VerifyChoice& o, Run& run) {
    VerifyOptions options;
    if (!o.op.empty()) {
        options.op = op_from_name(o.op);
        if (*options.op == Op::unknown) {
            if (const std::string_view why = why_no_op(o.op); !why.empty())
                throw Error(Code::invalid, "there is no op '" + o.op + "': " + std::string(why));
            std::string names;
            for (const Op op : all_ops()) names += std::string(names.empty() ? "" : " ") + name_of(op);
            throw Error(Code::invalid, "there is no op '" + o.op + "'; there are: " + names);
        }
    }
    options.name_filter = o.name;
    options.cancel = &run.interrupted;
    const Context context(context_options(o.choice));
    const Device device = open_device(context, o.choice);
    const size_t total = verify_names(options).size();
    if (total == 0) throw Error(Code::not_found, "no case is called like '" + o.name + "'");

    std::vector<VerifyResult> results;
    {
        Progress progress("verifying " + device.info().id);
        size_t done = 0;
        options.progress = [&](const VerifyResult& r) {
            progress.show(static_cast<double>(++done) / static_cast<double>(total), name_of(r.op));
        };
        results = verify(device, options);
    }
    Counts all;
    std::map<Op, Counts> by_op;
    for (const VerifyResult& r : results) {
        add(all, r);
        add(by_op[r.op], r);
    }
    const int exit_code = all.failed > 0 || all.passed == 0 ? kFailed : kDone;
    if (run.json) {
        Json cases = Json::array();
        for (const VerifyResult& r : results)
            cases.push_back({{"name", r.name},
                             {"op", name_of(r.op)},
                             {"status", name_of(r.status)},
                             {"worst", r.worst},
                             {"text", r.text}});
        print({{"device", device.info().id},
               {"name", device.info().name},
               {"passed", all.passed},
               {"failed", all.failed},
               {"unsupported", all.unsupported},
               {"cases", cases}});
        return exit_code;
    }
    std::vector<std::vector<std::string>> rows{{"OP", "PASSED", "FAILED", "UNSUPPORTED", "WORST ERROR / BOUND"}};
    for (const auto& [op, c] : by_op) {
        rows.push_back({name_of(op), std::to_string(c.passed), std::to_string(c.failed), std::to_string(c.unsupported),
                        fixed(c.worst, 3).text});
    }
    print_table(rows);
    out("\n");
    for (const VerifyResult& r : results)
        if (r.status == VerifyResult::failed || (o.all && r.status == VerifyResult::unsupported))
            out("{}: {}: {}\n", r.name, name_of(r.status), r.text);
    out("{} ({}): {} passed, {} failed, {} unsupported\n", device.info().id, device.info().name, all.passed, all.failed,
        all.unsupported);
    return exit_code;
}

}  // namespace

void add_verify(const Command& app, Run& run) {
    const Command command =
        app.subcommand("verify", "Check a device's results against the float64 references, case by case");
    auto o = std::make_shared<VerifyChoice>();
    command.option("--op", o->op, "Only this op, for example Conv").type("OP");
    command.option("--case", o->name, "Only cases whose name contains this").type("TEXT");
    command.flag("--all", o->all, "Say of each case that is not supported why");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Exit code 1 when a case fails.\nExamples:\n  backplane verify\n  backplane verify --device cpu --op Conv\n"
        "  backplane verify --device cpu --cpu-mask avx512f,avx2");
    command.runs([o, &run] { run.exit_code = verify_device(*o, run); });
}

}  // namespace backplane::cli
