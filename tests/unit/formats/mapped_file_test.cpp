#include "gguf/mapped_file.hpp"

#include <cstring>
#include <span>

#include "gguf/printable.hpp"
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

TEST(MappedFile, BytesThatWereLetGoAreReadAgain) {
    const TemporaryFolder folder;
    std::string text;
    for (int i = 0; i < 40000; ++i) text += std::to_string(i);
    write_file(folder / "a", text);
    const formats::MappedFile file(folder / "a");
    const std::span<const std::byte> bytes = file.bytes();
    const auto is_whole = [&] { return std::memcmp(bytes.data(), text.data(), text.size()) == 0; };
    ASSERT_EQ(bytes.size(), text.size());
    EXPECT_TRUE(is_whole());
    for (const size_t begin : {size_t{0}, size_t{1}, size_t{4096}, size_t{100000}, bytes.size()})
        for (const size_t size : {size_t{0}, size_t{10}, size_t{5000}, bytes.size()}) {
            formats::let_go(bytes.subspan(begin, std::min(size, bytes.size() - begin)));
            EXPECT_TRUE(is_whole()) << size << " bytes from " << begin;
        }
}

TEST(Printable, KeepsMessagesToOneShortLine) {
    EXPECT_EQ(formats::printable("a\n\xff z"), "'a?? z'");
    EXPECT_EQ(formats::printable(std::string(65, 'x')), "'" + std::string(64, 'x') + "...'");
}

}  // namespace
}  // namespace backplane
