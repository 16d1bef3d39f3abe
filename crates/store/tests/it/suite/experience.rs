//! What was learnt from use.

use toolcrib_engine::Learnt;

use super::Store;

const DAY: u64 = 24 * 3_600 * 1_000;

fn learnt(words: &[&str], tool: &str, at_ms: u64) -> Learnt {
    Learnt { words: words.iter().map(|word| (*word).to_owned()).collect(), tool: tool.to_owned(), at_ms }
}

/// Words, tools, and weights in hundredths.
async fn known(store: &impl Store, tenant: &str) -> Vec<(String, String, i64)> {
    let mut pairs: Vec<_> = store
        .experience(tenant, 100)
        .await
        .unwrap()
        .into_iter()
        .map(|pair| (pair.word, pair.tool, (pair.weight * 100.0).round() as i64))
        .collect();
    pairs.sort();
    pairs
}

fn pair(word: &str, tool: &str, hundredths: i64) -> (String, String, i64) {
    (word.to_owned(), tool.to_owned(), hundredths)
}

pub(crate) async fn pairs_add_up_and_decay(store: impl Store) {
    let first = vec![learnt(&["ship", "release"], "a/deploy", 0), learnt(&["ship"], "a/deploy", 0)];
    store.learn("t", first, DAY, 100).await.unwrap();
    assert_eq!(known(&store, "t").await, [pair("release", "a/deploy", 100), pair("ship", "a/deploy", 200)]);
    store.learn("t", vec![learnt(&["ship"], "a/deploy", DAY)], DAY, 100).await.unwrap();
    // What is seen late, with an earlier time, counts as what it was worth then.
    store
        .learn("t", vec![learnt(&["release"], "a/notes", 0), learnt(&["ship"], "a/deploy", 0)], DAY, 100)
        .await
        .unwrap();
    let pairs = store.experience("t", 100).await.unwrap();
    let ship = pairs.iter().find(|pair| pair.word == "ship").unwrap();
    assert!((ship.weight - 2.5).abs() < 1e-9 && ship.at_ms == DAY, "{ship:?}");
    assert_eq!(pairs.len(), 3);
    assert_eq!(store.experience("t", 1).await.unwrap()[0].word, "ship", "the one seen last");
}

pub(crate) async fn tenants_learn_apart_and_forget_apart(store: impl Store) {
    store.learn("one", vec![learnt(&["ship"], "a/x", 0)], DAY, 100).await.unwrap();
    store.learn("", vec![learnt(&["ship", "mail"], "a/y", 0)], DAY, 100).await.unwrap();
    assert_eq!(known(&store, "one").await, [pair("ship", "a/x", 100)]);
    assert_eq!(store.experienced().await.unwrap(), [(String::new(), 2), ("one".to_owned(), 1)]);
    assert_eq!(store.forget_experience("").await.unwrap(), 2);
    assert_eq!(store.forget_experience("").await.unwrap(), 0);
    assert_eq!(known(&store, "").await, []);
    assert_eq!(store.experienced().await.unwrap(), [("one".to_owned(), 1)]);
}

pub(crate) async fn the_weakest_pairs_make_room(store: impl Store) {
    for number in 0..20_u64 {
        let word = format!("w{number:02}");
        let times = if number == 3 { 40 } else { 1 };
        let seen = (0..times).map(|_| learnt(&[&word], "a/x", number * DAY)).collect();
        store.learn("t", seen, DAY, 10).await.unwrap();
    }
    let pairs = store.experience("t", 100).await.unwrap();
    assert!(pairs.len() <= 10 && pairs.len() >= 8, "{}", pairs.len());
    assert!(pairs.iter().any(|pair| pair.word == "w19") && !pairs.iter().any(|pair| pair.word == "w00"));
    store.learn("t", Vec::new(), DAY, 10).await.unwrap();
    assert_eq!(store.experience("t", 100).await.unwrap().len(), pairs.len());
    // Of pairs that are equal as many stay as of others.
    let words: Vec<String> = (0..20).map(|number| format!("w{number:02}")).collect();
    store.learn("equal", vec![Learnt { words, tool: "a/x".to_owned(), at_ms: DAY }], DAY, 10).await.unwrap();
    let kept = store.experience("equal", 100).await.unwrap().len();
    assert!((8..=10).contains(&kept), "{kept}");
}
