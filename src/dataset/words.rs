//! What texts say, whatever they look like: the words of a text, by which rows are compared and held out.
//!
//! A text is taken in Unicode's compatibility form (NFKC) and in lower case. A word is a run of letters and digits, with
//! points and commas inside numbers; signs that a formula would change its meaning without are words by themselves; all
//! else only separates. So `What is 3 + 4?` and `what is 3+4` have the same words, and `3 - 4` has others.
//!
//! Which rows are held out follows from words, so that this never changes.

use unicode_normalization::UnicodeNormalization;

use super::{Message, Prompt};

/// Signs that are words by themselves. A hyphen between letters is none.
const SIGNS: &str = "+-*/=<>^%$€£&|~×÷±√∞≤≥≠∑∫∈∪∩→⇒¬";
/// Roles whose messages are the same for many rows, and say nothing about one.
const STANDING: [&str; 2] = ["system", "developer"];

/// The words of a text with one space between them; of one without any, the text itself.
pub fn normalised(text: &str) -> String {
    let words = if text.is_ascii() {
        words_of(text.bytes().map(|byte| char::from(byte.to_ascii_lowercase())), text.len())
    } else {
        words_of(text.nfkc().flat_map(char::to_lowercase), text.len())
    };
    if words.is_empty() {
        text.nfkc().flat_map(char::to_lowercase).collect::<String>().trim().to_owned()
    } else {
        words
    }
}

/// The words of characters that are in lower case; there are about `length` bytes of them.
fn words_of(characters: impl Iterator<Item = char>, length: usize) -> String {
    let mut words = String::with_capacity(length);
    let mut characters = characters.peekable();
    let (mut before, mut inside) = (' ', false);
    while let Some(character) = characters.next() {
        let mut behind = || characters.peek().copied().unwrap_or(' ');
        let joins = match character {
            '.' | ',' => before.is_ascii_digit() && behind().is_ascii_digit(),
            _ => is_letter(character),
        };
        let is_sign = !joins && character != ' ' && SIGNS.contains(character);
        // A hyphen between letters only separates.
        let counts = is_sign && !(character == '-' && before.is_alphabetic() && behind().is_alphabetic());
        if joins || counts {
            if !(words.is_empty() || joins && inside) {
                words.push(' ');
            }
            words.push(character);
        }
        (before, inside) = (character, joins);
    }
    words
}

/// Letters and digits, and the marks that belong to letters of some scripts.
fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric()
    } else {
        character.is_alphanumeric() || unicode_normalization::char::is_combining_mark(character)
    }
}

/// The words of what a prompt asks: of a conversation without what stands before many.
pub fn of_prompt(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Text(text) => normalised(text),
        Prompt::Messages(messages) => {
            let asked = messages.iter().filter(|message| !STANDING.contains(&message.role()));
            let texts: Vec<&str> = asked.filter_map(Message::content).collect();
            normalised(&texts.join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_do_not_count_and_meaning_does() {
        let same = |one: &str, other: &str| assert_eq!(normalised(one), normalised(other), "{one} {other}");
        same("What is 3 + 4?", "  what\tis 3+4 ");
        same("“Well-known” facts…", "well known facts");
        same("ﬁne Ｆｕｌｌ width", "fine full width");
        same("caf\u{e9}", "cafe\u{301}");
        let other = |one: &str, other: &str| assert_ne!(normalised(one), normalised(other), "{one} {other}");
        other("3-4", "3+4");
        other("1.5", "15");
        other("x<y", "x>y");
        other("-3", "3");
        assert_eq!(normalised("It costs $1,000.50, i.e. 5% of x^2."), "it costs $ 1,000.50 i e 5 % of x ^ 2");
        assert_eq!(normalised(" ?! "), "?!");
    }

    #[test]
    fn what_stands_before_every_conversation_says_nothing_about_one() {
        let talk = |system: &str| Prompt::Messages(vec![Message::new("system", system), Message::new("user", "2+2?")]);
        assert_eq!(of_prompt(&talk("Be brief.")), "2 + 2");
        assert_eq!(of_prompt(&talk("Think.")), of_prompt(&Prompt::Text(String::from("2 + 2"))));
    }
}
