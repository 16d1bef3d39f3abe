//! What travels through a client and must come back unchanged: sealed, so that knowing a request's handle, which refusals
//! name, is not enough to answer it (T7 of the security reference).

use toolcrib_engine::{KeyValueStore, StoreError};

/// Where the key is kept; no namespace of a caller begins like this.
const NAMESPACE: &str = "\u{1}toolcrib";
const NAME: &str = "request-state-key";

/// Seals with a key of this installation.
#[derive(Clone)]
pub(crate) struct Seal {
    key: [u8; 32],
}

impl Seal {
    /// With the key of the store; one is made at first use. All processes that share the store share the key, so that
    /// an answer counts after a restart too.
    /// A store that fails only costs that: the key is then good until the process ends.
    pub(crate) async fn of(store: &dyn KeyValueStore) -> anyhow::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("the system gives no random bytes: {error}"))?;
        match kept(store, key).await {
            Ok(key) => Ok(Self { key }),
            Err(error) => {
                tracing::warn!(%error, "answers that clients bring do not count after a restart");
                Ok(Self { key })
            }
        }
    }

    /// The handle, sealed for one user.
    pub(crate) fn close(&self, handle: &str, user: Option<&str>) -> String {
        format!("{handle}.{}", self.mark(handle, user).to_hex())
    }

    /// The handle, if the seal is ours and the user's.
    pub(crate) fn open<'s>(&self, sealed: &'s str, user: Option<&str>) -> Option<&'s str> {
        let (handle, mark) = sealed.rsplit_once('.')?;
        // As it was given, to the letter: hexadecimal digits can be written in two ways.
        let read = blake3::Hash::from_hex(mark).ok().filter(|read| read.to_hex().as_str() == mark)?;
        // Compares in constant time.
        (read == self.mark(handle, user)).then_some(handle)
    }

    fn mark(&self, handle: &str, user: Option<&str>) -> blake3::Hash {
        let user = user.map_or_else(|| "-".to_owned(), |user| format!("+{user}"));
        blake3::keyed_hash(&self.key, format!("{}:{handle}{user}", handle.len()).as_bytes())
    }
}

/// The key of the store, which becomes `fresh` if there is none.
async fn kept(store: &dyn KeyValueStore, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
    if let Some(key) = store.get(NAMESPACE, NAME).await?.as_deref().and_then(parse) {
        return Ok(key);
    }
    let text = blake3::Hash::from(fresh).to_hex();
    store.set(NAMESPACE, NAME, &text, 16).await?;
    // Another process may have been first; then its key is the one.
    Ok(store.get(NAMESPACE, NAME).await?.as_deref().and_then(parse).unwrap_or(fresh))
}

fn parse(text: &str) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}

#[cfg(test)]
mod tests {
    use toolcrib_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn only_what_was_sealed_for_a_user_opens_for_that_user() {
        let store = MemoryStore::new();
        let seal = Seal::of(&store).await.unwrap();
        let sealed = seal.close("handle", Some("ann"));
        assert_eq!(seal.open(&sealed, Some("ann")), Some("handle"));
        // The same store gives the same key.
        assert_eq!(Seal::of(&store).await.unwrap().open(&sealed, Some("ann")), Some("handle"));
        for (text, user) in [
            (sealed.clone(), Some("bob")),
            (sealed.clone(), None),
            ("handle".to_owned(), Some("ann")),
            (format!("{sealed}0"), Some("ann")),
            (format!("handle.{}", sealed["handle.".len()..].to_uppercase()), Some("ann")),
            (sealed.replace("handle", "handlf"), Some("ann")),
            (sealed[..sealed.len() - 1].to_owned(), Some("ann")),
            (seal.close("handle", None), Some("ann")),
            (Seal::of(&MemoryStore::new()).await.unwrap().close("handle", Some("ann")), Some("ann")),
        ] {
            assert_eq!(seal.open(&text, user), None, "{text} {user:?}");
        }
    }
}
