// The report for programs. Keys are a promise: docs/discovery.md lists them.
#include "backplane/context.hpp"
#include "base/json.hpp"
#include "base/visible_text.hpp"

namespace backplane {

namespace {

using base::Json;

Json of(const DeviceInfo& d) {
    return {{"id", d.id},
            {"name", d.name},
            {"backend", d.backend},
            {"kind", name_of(d.kind)},
            {"identity", d.identity},
            {"same_chip_as", d.same_chip_as},
            {"memory_total", d.memory_total},
            {"memory_free", d.memory_free},
            {"memory_source", d.memory_source},
            {"driver", d.driver},
            {"units", d.units},
            {"features", d.features},
            {"warning", d.warning},
            {"fault", d.fault},
            {"module", d.module.string()},
            {"module_version", d.module_version}};
}

Json of(const Candidate& c) {
    return {{"path", c.path.string()},
            {"source", name_of(c.source)},
            {"backend", c.descriptor ? c.descriptor->backend : ""},
            {"version", c.descriptor ? c.descriptor->version : ""},
            {"verdict", name_of(c.verdict)},
            {"code", name_of(c.code)},
            {"reason", c.reason},
            {"remedy", c.remedy}};
}

}  // namespace

std::string Report::json() const {
    Json json;
    json["sources"] = Json::array();
    for (const Source& s : sources)
        json["sources"].push_back(
            {{"kind", name_of(s.kind)}, {"path", s.path.string()}, {"searched", s.searched}, {"note", s.note}});
    json["candidates"] = Json::array();
    for (const Candidate& c : candidates) json["candidates"].push_back(of(c));
    json["devices"] = Json::array();
    for (const DeviceInfo& d : devices) json["devices"].push_back(of(d));
    json["chosen"] = chosen;
    json["why"] = why;
    json["notes"] = notes;
    base::carry_bytes(json);  // paths and the names that drivers give need not be UTF-8
    return json.dump(-1, base::BadText::replace);
}

}  // namespace backplane
