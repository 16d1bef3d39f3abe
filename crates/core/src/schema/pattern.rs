//! Regular expressions in schemas, judged by their text alone: what cannot be matched in linear time, or grows beyond
//! measure when its counts are written out, is refused before any engine sees it (threat T15).

/// Atoms after all counted repetitions are written out. Enough for `[0-9a-f]{4096}`; a few hundred KiB compiled.
const ATOMS: u64 = 20_000;

/// Refuses back references and huge repetitions; the words complete "the pattern at PLACE …".
pub(super) fn inspect(pattern: &str, limit_chars: usize) -> Result<(), String> {
    let chars: Vec<char> = pattern.chars().take(limit_chars + 1).collect();
    if chars.len() > limit_chars {
        return Err(format!("is longer than {limit_chars} characters"));
    }
    let too_large = || format!("unfolds to more than {ATOMS} characters; use smaller repetition counts");
    // Sizes of what is open: the whole and each group; `last` is the size of the latest atom, which a count multiplies.
    let mut open: Vec<u64> = vec![0];
    let mut last: u64 = 0;
    let mut at = 0;
    while let Some(&char) = chars.get(at) {
        at += 1;
        let mut atom = 1;
        match char {
            '\\' => {
                let escaped = chars.get(at).copied().unwrap_or('\\');
                at += 1;
                if escaped.is_ascii_digit() && escaped != '0' || escaped == 'k' && chars.get(at) == Some(&'<') {
                    return Err("refers back to a group, which cannot be matched in linear time".to_owned());
                }
            }
            '[' => at = class_end(&chars, at),
            '(' => {
                open.push(0);
                last = 0;
                continue;
            }
            ')' if open.len() > 1 => atom = open.pop().unwrap_or_default().max(1),
            '{' => {
                if let Some((count, end)) = repetition(&chars, at) {
                    at = end;
                    let grown = last.saturating_mul(count.max(1));
                    if let Some(size) = open.last_mut() {
                        *size = (*size - last).saturating_add(grown);
                    }
                    last = grown;
                    if last > ATOMS {
                        return Err(too_large());
                    }
                    continue;
                }
            }
            _ => {}
        }
        last = atom;
        let Some(size) = open.last_mut() else { break };
        *size = size.saturating_add(atom);
        if *size > ATOMS {
            return Err(too_large());
        }
    }
    Ok(())
}

/// The index behind a character class that opened just before `at`.
fn class_end(chars: &[char], mut at: usize) -> usize {
    // A bracket right at the start is a member.
    if chars.get(at) == Some(&'^') {
        at += 1;
    }
    if chars.get(at) == Some(&']') {
        at += 1;
    }
    while let Some(&char) = chars.get(at) {
        at += 1;
        match char {
            '\\' => at += 1,
            ']' => break,
            _ => {}
        }
    }
    at
}

/// Reads `3}`, `3,}` or `3,5}` after the brace: the larger bound and the index behind it.
fn repetition(chars: &[char], from: usize) -> Option<(u64, usize)> {
    let length = chars.get(from..)?.iter().take(24).position(|&char| char == '}')?;
    let text: String = chars[from..from + length].iter().collect();
    let (low, high) = text.split_once(',').unwrap_or((&text, ""));
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().unwrap_or(u64::MAX));
    let low = number(low).filter(|_| !low.is_empty())?;
    let high = if high.is_empty() { low } else { number(high)? };
    Some((low.max(high), from + length + 1))
}
