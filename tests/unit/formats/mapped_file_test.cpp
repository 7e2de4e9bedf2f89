#include "formats/mapped_file.hpp"

#include "formats/printable.hpp"
#include "support.hpp"

namespace backplane {
namespace {

TEST(MappedFile, BytesStayWhereTheyAreWhenItMoves) {
    const TemporaryFolder folder;
    write_file(folder / "a", "text");
    write_file(folder / "empty", "");
    formats::MappedFile first(folder / "a");
    const std::byte* const data = first.bytes().data();
    formats::MappedFile second;
    second = std::move(first);
    EXPECT_EQ(second.bytes().data(), data);
    EXPECT_EQ(second.bytes().size(), 4U);
    EXPECT_TRUE(formats::MappedFile(folder / "empty").bytes().empty());
}

TEST(Printable, KeepsMessagesToOneShortLine) {
    EXPECT_EQ(formats::printable("a\n\xff z"), "'a?? z'");
    EXPECT_EQ(formats::printable(std::string(65, 'x')), "'" + std::string(64, 'x') + "...'");
}

}  // namespace
}  // namespace backplane
