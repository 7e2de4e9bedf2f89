#include "base/thrown.hpp"

#include <exception>

namespace backplane::base {

std::string words_of_exception() {
    pass_on_the_end_of_a_thread();
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what() != nullptr ? error.what() : "an exception without words";
    } catch (const std::string& text) {
        return text;
    } catch (const char* text) {
        return text != nullptr ? text : "a null text";
    } catch (int number) {
        return "the number " + std::to_string(number);
    } catch (...) {
        return "something that is no std::exception";
    }
}

}  // namespace backplane::base
