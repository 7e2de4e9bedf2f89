#include "registry/filter.hpp"

#include <gtest/gtest.h>

#include "discovery/inspect.hpp"

namespace backplane::registry {
namespace {

DeviceInfo device(const char* id, const char* backend, const char* name, DeviceKind kind, const char* identity = "",
                  const char* warning = "") {
    DeviceInfo d;
    d.id = id;
    d.backend = backend;
    d.name = name;
    d.kind = kind;
    d.identity = identity;
    if (*identity != 0) d.identities = {identity};
    d.warning = warning;
    return d;
}

std::vector<DeviceInfo> a_workstation() {
    std::vector<DeviceInfo> devices{
        device("cpu:0", "cpu", "Some CPU", DeviceKind::cpu, "cpu"),
        device("soft:0", "soft", "llvmpipe", DeviceKind::software),
        device("gpu:0", "gpu", "Integrated Graphics 770", DeviceKind::integrated, "pci:0000:00:02.0"),
        device("gpu:1", "gpu", "GeForce RTX 4090", DeviceKind::discrete, "pci:0000:01:00.0"),
        device("odd:0", "odd", "RTX through odd", DeviceKind::discrete, "pci:0000:01:00.0", "driver too old"),
    };
    sort_by_preference(devices);
    return devices;
}

std::string chosen(const char* filter) {
    std::string ids;
    for (const DeviceInfo& d : Filter(filter).select(a_workstation())) ids += (ids.empty() ? "" : " ") + d.id;
    return ids;
}

TEST(Filter, ABackendByTheNameOfAKindStandsForDevicesOfThatKindAlone) {
    std::vector<DeviceInfo> devices{device("cpu:0", "cpu", "No CPU at all", DeviceKind::discrete),
                                    device("real:0", "real", "A CPU", DeviceKind::cpu)};
    const std::vector<DeviceInfo> chosen = Filter("cpu").select(devices);
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_EQ(chosen[0].id, "real:0");
    EXPECT_EQ(Filter("cpu:0").select(devices).size(), 1U);
}

TEST(Filter, ItsWordsAreNoNamesOfBackends) {
    for (int kind = 0; kind <= static_cast<int>(DeviceKind::software); ++kind) {
        const std::string word = name_of(static_cast<DeviceKind>(kind));
        EXPECT_TRUE(word == "cpu" || discovery::is_reserved(word)) << word;
    }
    for (const char* word : {"auto", "name", "uuid", "pci", "host"}) EXPECT_TRUE(discovery::is_reserved(word)) << word;
}

TEST(Filter, WithoutAFilterTheOrderIsDiscreteIntegratedCpuAndNeverSoftware) {
    EXPECT_EQ(chosen(""), "gpu:1 gpu:0 cpu:0 odd:0");
    EXPECT_EQ(chosen("auto"), "gpu:1 gpu:0 cpu:0 odd:0");
}

TEST(Filter, BetweenDevicesThatAreAlikeThePriorityOfTheirModulesDecides) {
    DeviceInfo general;
    general.id = "a:0";
    general.kind = DeviceKind::discrete;
    general.module_priority = 10;
    DeviceInfo native = general;
    native.id = "z:0";
    native.module_priority = 100;
    DeviceInfo cpu = native;
    cpu.id = "c:0";
    cpu.kind = DeviceKind::cpu;
    cpu.module_priority = 1000;
    std::vector<DeviceInfo> devices{cpu, general, native};
    sort_by_preference(devices);
    EXPECT_EQ(devices[0].id + devices[1].id + devices[2].id, "z:0a:0c:0");
}

TEST(Filter, EveryWayToNameADevice) {
    EXPECT_EQ(chosen("cpu:0"), "cpu:0");
    EXPECT_EQ(chosen("gpu"), "gpu:1 gpu:0");
    EXPECT_EQ(chosen("GPU:0"), "gpu:0");
    EXPECT_EQ(chosen("integrated"), "gpu:0");
    EXPECT_EQ(chosen("odd:RTX through odd"), "odd:0");
    EXPECT_EQ(chosen("gpu:rtx through odd"), "");
    EXPECT_EQ(chosen("software"), "soft:0");
    EXPECT_EQ(chosen("name=*rtx*"), "gpu:1 odd:0");
    EXPECT_EQ(chosen("name=geforce rtx ????"), "gpu:1");
    EXPECT_EQ(chosen("pci:0000:01:00.0"), "gpu:1 odd:0");
}

TEST(Filter, EarlierTermsArePreferred) {
    EXPECT_EQ(chosen("cpu,gpu"), "cpu:0 gpu:1 gpu:0");
    EXPECT_EQ(chosen("missing, integrated , auto"), "gpu:0 gpu:1 cpu:0 odd:0");
}

TEST(Filter, AnExclamationMarkExcludes) {
    EXPECT_EQ(chosen("!gpu:1"), "gpu:0 cpu:0 odd:0");
    EXPECT_EQ(chosen("!gpu,!odd"), "cpu:0");
    EXPECT_EQ(chosen("gpu,!discrete"), "gpu:0");
    EXPECT_EQ(chosen("soft,!soft"), "");
    EXPECT_TRUE(Filter("!gpu").excludes_backend("gpu"));
    EXPECT_FALSE(Filter("!gpu:0").excludes_backend("gpu"));
}

TEST(SameChip, ByAddressBeforeUuidOneToOneAndOnlyAcrossBackends) {
    const auto make = [](const char* id, const char* backend, std::vector<std::string> identities) {
        DeviceInfo d = device(id, backend, "x", DeviceKind::discrete);
        d.identities = std::move(identities);
        return d;
    };
    std::vector<DeviceInfo> devices{
        make("a:0", "a", {"pci:1", "uuid:7"}), make("a:1", "a", {"pci:2", "uuid:7"}),  // a driver that gives one UUID to two chips
        make("b:0", "b", {"pci:2", "uuid:7"}), make("b:1", "b", {"pci:1", "uuid:7"}), make("c:0", "c", {"uuid:7"}),
        make("c:1", "c", {"uuid:7"}),          make("c:2", "c", {"uuid:7"}),          make("d:0", "d", {}),
    };
    mark_same_chips(devices);
    std::vector<std::string> same;
    for (const DeviceInfo& d : devices) same.push_back(d.same_chip_as);
    EXPECT_EQ(same, (std::vector<std::string>{"", "", "a:1", "a:0", "a:0", "a:1", "", ""}));
}

TEST(Filter, NonsenseMatchesNothingAndEndsSoon) {
    EXPECT_EQ(chosen("nothing"), "");
    EXPECT_EQ(chosen(",,, ,"), "gpu:1 gpu:0 cpu:0 odd:0");
    EXPECT_EQ(chosen("name="), "");
    EXPECT_EQ(chosen(("name=" + std::string(2000, '*') + "z").c_str()), "");
    EXPECT_EQ(chosen("!"), "gpu:1 gpu:0 cpu:0 odd:0");
}

TEST(Filter, ABackendsNameGoesBeforeTheKindOfThatName) {
    std::vector<DeviceInfo> devices{device("fast:0", "fast", "Some CPU", DeviceKind::cpu),
                                    device("cpu:0", "cpu", "Some CPU", DeviceKind::cpu)};
    std::string ids;
    for (const DeviceInfo& d : Filter("CPU").select(devices)) ids += d.id + " ";
    EXPECT_EQ(ids, "cpu:0 fast:0 ");
}

TEST(Filter, ItKnowsWhichBackendsItsTermsName) {
    const std::vector<std::string> all{"cpu", "gpu", "Odd"};
    using Names = std::vector<std::string>;
    EXPECT_EQ(Filter("gpu:1,cpu").named_backends(all), (Names{"gpu", "cpu"}));
    EXPECT_EQ(Filter("odd:some name, !gpu").named_backends(all), Names{"Odd"});
    for (const char* any :
         {"", "auto", "!cpu", "discrete", "cpu,discrete", "name=*cpu*", "pci:0000:01:00.0", "gp", "gpux:0"})
        EXPECT_FALSE(Filter(any).named_backends(all)) << any;
}

}  // namespace
}  // namespace backplane::registry
