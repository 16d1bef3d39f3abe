use super::*;

fn conversation(number: usize) -> Conversation {
    Conversation::of(&Scope::default(), Some(&number.to_string()))
}

/// Whoever has only what a conversation begins with loses nothing by being forgotten.
#[test]
fn conversations_that_are_as_they_began_make_room_first() {
    let (loads, book) = (Loads::default(), Arc::new(Book::default()));
    let web = Item::Category("web".parse().unwrap());
    assert_eq!(loads.load(&conversation(0), web.clone(), &[], &book), Ok(false));
    for number in 1..=MAX_CONVERSATIONS + 10 {
        assert_eq!(loads.load(&conversation(number), web.clone(), &[], &book), Ok(false));
        assert!(loads.unload(&conversation(number), &web, &book));
    }
    assert_eq!(loads.items(&conversation(0), &book), [web]);
    assert_eq!(loads.known.lock().conversations.len(), MAX_CONVERSATIONS);
    assert!(loads.forget(&conversation(0)) && !loads.forget(&conversation(0)));
}
