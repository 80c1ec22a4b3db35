#include "heddle/kernels/expression/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

constexpr std::array<std::string_view, 7> kKeywords{"and", "or", "not", "in", "if", "else", "for"};
/// Python's other keywords: no names, and nothing here.
constexpr std::array<std::string_view, 26> kRefused{
    "None",     "as",   "assert", "async",   "await", "break",  "class",  "continue", "def",
    "del",      "elif", "except", "finally", "from",  "global", "import", "is",       "lambda",
    "nonlocal", "pass", "raise",  "return",  "try",   "while",  "with",   "yield"};
/// Longer ones stand before those that they begin with.
constexpr std::array<std::string_view, 19> kSigns{"**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-",
                                                  "*",  "/",  "%",  "(",  ")",  "[",  "]", ",", "."};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
      tokens.push_back(next());
      if (tokens.back().kind == Token::Kind::end) return tokens;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw ExpressionFault(column(), why); }

  [[nodiscard]] std::size_t column() const {
    const std::string_view before = text_.substr(0, at_);
    return before.size() - static_cast<std::size_t>(std::ranges::count_if(before, continues_character)) + 1;
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  Token next() {
    Token token;
    token.column = column();
    if (at_ == text_.size()) return token;
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number(token);
    } else if (c == '"' || c == '\'') {
      token.kind = Token::Kind::literal;
      token.literal = Item{quoted()};
    } else if (starts_name(c)) {
      name(token);
    } else {
      sign(token);
    }
    return token;
  }

  void name(Token& token) {
    const std::size_t begin = at_;
    while (continues_name(peek())) ++at_;
    token.text = text_.substr(begin, at_ - begin);
    if (std::ranges::find(kRefused, token.text) != kRefused.end()) {
      at_ = begin;
      fail(fmt::format("{} has no meaning here", token.text));
    }
    if (token.text == "True" || token.text == "False") {
      token.kind = Token::Kind::literal;
      token.literal = Item{token.text == "True"};
      return;
    }
    const bool keyword = std::ranges::find(kKeywords, token.text) != kKeywords.end();
    token.kind = keyword ? Token::Kind::sign : Token::Kind::name;
  }

  void sign(Token& token) {
    const auto found =
        std::ranges::find_if(kSigns, [&](std::string_view each) { return text_.substr(at_).starts_with(each); });
    if (found == kSigns.end()) {
      if (peek() == '=') fail("a single =; two of them compare");
      if (text_.substr(at_).starts_with("&&") || text_.substr(at_).starts_with("||") || peek() == '!') {
        fail("expressions are written as in Python: and, or, not");
      }
      if (peek() == '?') fail("expressions are written as in Python: A if CONDITION else B");
      fail(fmt::format("{} has no meaning here", in_quotes(text_.substr(at_, length_of_character()))));
    }
    token.kind = Token::Kind::sign;
    token.text = *found;
    at_ += found->size();
  }

  [[nodiscard]] std::size_t length_of_character() const {
    std::size_t length = 1;
    while (at_ + length < text_.size() && continues_character(text_[at_ + length])) ++length;
    return length;
  }

  /// The characters of a number that `belongs` takes, without the underscores between digits.
  template <class Belongs>
  std::string digits(const Belongs& belongs) {
    std::string found;
    while (belongs(peek()) || (peek() == '_' && !found.empty() && belongs(peek(1)))) {
      if (peek() != '_') found += peek();
      ++at_;
    }
    return found;
  }

  void number(Token& token) {
    token.kind = Token::Kind::literal;
    const char base = peek(1);
    if (peek() == '0' && (base == 'x' || base == 'X')) return whole_in_base(token, 16);
    if (peek() == '0' && (base == 'o' || base == 'O')) return whole_in_base(token, 8);
    if (peek() == '0' && (base == 'b' || base == 'B')) return whole_in_base(token, 2);
    const std::size_t begin = at_;
    std::string written = digits(is_digit);
    bool real = false;
    if (peek() == '.') {
      real = true;
      ++at_;
      written += '.';
      written += digits(is_digit);
    }
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      real = true;
      written += peek(sign) == '-' ? "e-" : "e";
      at_ += 1 + sign;
      written += digits(is_digit);
    }
    if (continues_name(peek()) || peek() == '.') fail("expected a blank or an operator after a number");
    if (!real) {
      const bool zeros = written.find_first_not_of('0') == std::string::npos;
      if (written.size() > 1 && written.front() == '0' && !zeros) {
        at_ = begin;
        fail("an integer begins with 0");
      }
      return whole(token, written, 10);
    }
    double value = 0.0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (error == std::errc::result_out_of_range) {  // Python: infinite, or 0
      at_ = begin;
      fail("a real beyond 64 bits");
    }
    token.literal = Item{value};
  }

  void whole_in_base(Token& token, int base) {
    at_ += 2;
    if (peek() == '_') ++at_;
    const std::string written = digits([base](char c) {
      if (base == 16) return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      return c >= '0' && c < '0' + base;
    });
    if (written.empty() || continues_name(peek())) fail("expected digits of a number");
    whole(token, written, base);
  }

  void whole(Token& token, const std::string& written, int base) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value, base);
    constexpr std::uint64_t kSmallest = std::uint64_t{1} << 63U;
    if (error != std::errc() || value > kSmallest) throw ExpressionFault(token.column, "an integer beyond 64 bits");
    token.smallest = value == kSmallest;
    token.literal = Item{token.smallest ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(value)};
  }

  std::string quoted() {
    const char quote = peek();
    const std::size_t begin = at_++;
    std::string word;
    while (peek() != quote) {
      if (at_ >= text_.size() || peek() == '\n') {
        at_ = begin;
        fail("a text without a quote at its end");
      }
      if (peek() == '\\') {
        ++at_;
        constexpr std::string_view kEscapes = R"(\'"nt)", kMeant = "\\'\"\n\t";
        const std::size_t escape = kEscapes.find(peek());
        if (peek() == '\0' || escape == std::string_view::npos) fail(R"(expected \\, \', \", \n or \t)");
        word += kMeant[escape];
      } else {
        word += peek();
      }
      ++at_;
    }
    ++at_;
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Scanner(text).all(); }

}  // namespace heddle
