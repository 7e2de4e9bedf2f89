// What a machine without a usable card is told: the driver's own words, and what to do.
#include "instance.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "scripted_cuda.hpp"

namespace backplane::cuda {
namespace {

using scripted::Card;
using scripted::world;

class Listing : public testing::Test {
protected:
    void SetUp() override {
        scripted::start_anew();
        unsetenv("CUDA_VISIBLE_DEVICES");
    }
    void TearDown() override { unsetenv("CUDA_VISIBLE_DEVICES"); }
    // Why there are no devices.
    static std::string why() {
        const Instance instance;
        EXPECT_TRUE(instance.devices().empty());
        return instance.why();
    }
    static void expect_why(const std::string& words, const std::string& remedy) {
        const std::string said = why();
        EXPECT_NE(said.find(words), std::string::npos) << said;
        EXPECT_NE(said.find(remedy), std::string::npos) << said;
    }
};

TEST_F(Listing, ADriverThatDoesNotStartIsNamedWithItsWordsAndARemedy) {
    const struct {
        int result;
        const char *words, *remedy;
    } cases[] = {{34, "CUDA_ERROR_STUB_LIBRARY", "toolkit's stub"},
                 {100, "CUDA_ERROR_NO_DEVICE", ";"},
                 {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "of two versions: restart the machine"},
                 {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "cuda-compat"},
                 {999, "CUDA_ERROR_UNKNOWN", "nvidia-modprobe"},
                 {802, "CUDA error 802", "nvidia-fabricmanager"},
                 {12345, "CUDA error 12345", "nvidia-smi"}};
    for (const auto& c : cases) {
        scripted::start_anew();
        world().init = c.result;
        expect_why(c.words, c.remedy);
    }
}

TEST_F(Listing, AnEmptyCudaVisibleDevicesIsNamedWhereItHidesAllCards) {
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    world().init = 100;
    expect_why("CUDA_VISIBLE_DEVICES=-1", "unset it");
    world().init = 0;
    world().cards.clear();
    expect_why("CUDA_VISIBLE_DEVICES=-1", "unset it");
}

TEST_F(Listing, ADriverOfAnOlderMajorVersionThanTheKernelsIsToBeUpdated) {
    world().version = 11080;
    expect_why("CUDA 11.8", "update the driver");
    world().version = 12000;  // runs machine code of any compiler of its major version
    EXPECT_EQ(Instance().devices().size(), 1U);
}

TEST_F(Listing, CardsThatTheModuleHasNoMachineCodeForAreCompiledForByTheDriverIfItIsNoOlderThanTheCompiler) {
    world().cards[0].major = 11;
    world().version = 12080;
    EXPECT_TRUE(Instance().devices().at(0).compiles);
    world().version = 12040;
    expect_why("compute capability 11.0", "update the driver");
    world().cards[0].major = 8, world().cards[0].minor = 9;
    EXPECT_FALSE(Instance().devices().at(0).compiles) << "machine code of 8.0 runs on 8.9";
}

TEST_F(Listing, CardsOfEachGenerationSinceTuringAreTakenByAReleaseAndOlderOnesRefused) {
    const struct {
        int major, minor;
        bool compiles;
    } taken[] = {{7, 5, false},  {8, 0, false},  {8, 6, false}, {8, 7, false},  {8, 9, false},  {9, 0, false},
                 {10, 0, false}, {10, 3, false}, {11, 0, true}, {12, 0, false}, {12, 1, false}, {13, 0, true}};
    for (const auto& card : taken) {
        world().cards[0].major = card.major, world().cards[0].minor = card.minor;
        const Instance instance;
        ASSERT_EQ(instance.devices().size(), 1U) << card.major << '.' << card.minor << ": " << instance.why();
        EXPECT_EQ(instance.devices()[0].compiles, card.compiles) << card.major << '.' << card.minor;
        EXPECT_EQ(instance.devices()[0].starts_early, card.major >= 9 && !card.compiles);
    }
    for (const auto& [major, minor] :
         {std::pair(5, 2), std::pair(6, 0), std::pair(6, 1), std::pair(7, 0), std::pair(7, 2)}) {
        world().cards[0].major = major, world().cards[0].minor = minor;
        expect_why("compute capability " + std::to_string(major) + "." + std::to_string(minor), "7.5 is needed");
    }
}

TEST_F(Listing, OldAndProhibitedCardsAreLeftOutAndTheOthersListed) {
    world().cards = {Card{}, Card{}, Card{}};
    world().cards[0].name = "Old", world().cards[0].major = 7;
    world().cards[1].name = "Closed", world().cards[1].compute_mode = 2;
    world().cards[2].uuid = 9, world().cards[2].pci_bus = 0x41;
    const Instance instance;
    ASSERT_EQ(instance.devices().size(), 1U);
    EXPECT_NE(instance.why().find("Old is left out: it has compute capability 7.0, 7.5 is needed"), std::string::npos);
    EXPECT_NE(instance.why().find("Closed is left out: its compute mode prohibits it"), std::string::npos);
    const PhysicalDevice& device = instance.devices()[0];
    EXPECT_TRUE(device.uuid_known);
    EXPECT_EQ(device.uuid[0], 9);
    EXPECT_EQ(device.pci[1], 0x41U);
    EXPECT_EQ(device.vendor, 0x10deU);
}

TEST_F(Listing, AMigDeviceIsADeviceOfItsOwnIdentity) {
    world().cards = {Card{}, Card{}};
    world().cards[0].name = world().cards[1].name = "NVIDIA H100 MIG 1g.10gb";
    world().cards[1].uuid = 2;  // the same place on the bus
    const Instance instance;
    ASSERT_EQ(instance.devices().size(), 2U);
    EXPECT_NE(instance.devices()[0].id, instance.devices()[1].id);
}

TEST_F(Listing, MatrixUnitsOfWarpgroupsAreThoseOfComputeCapability9Alone) {
    EXPECT_TRUE(Instance().devices().at(0).can.warpgroups);
    for (const auto& [major, minor] : {std::pair(8, 0), std::pair(8, 9), std::pair(10, 0), std::pair(12, 0)}) {
        world().cards[0].major = major, world().cards[0].minor = minor;
        EXPECT_FALSE(Instance().devices().at(0).can.warpgroups) << major;
    }
}

TEST_F(Listing, KernelsThatAskForMoreSharedMemoryThanACardHasAreLeftOut) {
    world().cards[0].shared_bytes = 101376;
    EXPECT_FALSE(Instance().devices().at(0).can.warpgroups);
    EXPECT_TRUE(Instance().devices().at(0).can.attention_matrix);
    EXPECT_EQ(Instance().devices().at(0).can.float_parts, 64U);
    world().cards[0].shared_bytes = 101375;
    EXPECT_TRUE(Instance().devices().at(0).can.attention_matrix);
    EXPECT_EQ(Instance().devices().at(0).can.float_parts, 0U);
    world().cards[0].shared_bytes = 0;  // it does not say
    EXPECT_FALSE(Instance().devices().at(0).can.attention_matrix);
    EXPECT_EQ(Instance().devices().at(0).can.shared_bytes, 49152U);
}

TEST_F(Listing, MatrixUnitsComeWithComputeCapability8) {
    world().cards[0].major = 7, world().cards[0].minor = 5;
    EXPECT_FALSE(Instance().devices().at(0).can.matrix_tiles);
    world().cards[0].major = 8, world().cards[0].minor = 0;
    EXPECT_TRUE(Instance().devices().at(0).can.matrix_tiles);
}

}  // namespace
}  // namespace backplane::cuda
