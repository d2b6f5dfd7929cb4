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
    let text: Vec<char> = if text.is_ascii() {
        text.chars().map(|character| character.to_ascii_lowercase()).collect()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    let mut words = String::with_capacity(text.len());
    // Whether the last character put in may be followed by one of the same word.
    let mut inside = false;
    for (at, &character) in text.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let behind = text.get(at + 1);
        let between = |is: fn(&char) -> bool| before.is_some_and(is) && behind.is_some_and(is);
        let joins = matches!(character, '.' | ',') && between(|c| c.is_ascii_digit());
        let is_hyphen = character == '-' && between(|c| c.is_alphabetic());
        if is_letter(character) || joins {
            if !inside && !words.is_empty() {
                words.push(' ');
            }
            words.push(character);
            inside = true;
        } else {
            if SIGNS.contains(character) && !is_hyphen {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push(character);
            }
            inside = false;
        }
    }
    if words.is_empty() { text.iter().collect::<String>().trim().to_owned() } else { words }
}

/// Letters and digits, and the marks that belong to letters of some scripts.
fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || unicode_normalization::char::is_combining_mark(character)
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
