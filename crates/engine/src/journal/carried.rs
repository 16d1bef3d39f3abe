//! Writes that whoever waits for them drives, and that go on by themselves once nobody does.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::Handle;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::backend::BoxFuture;

/// A write under way. Dropped before its end, a task of its own brings it there: a write is not to be torn off in the
/// middle. As long as somebody waits, no task and no waking of another thread is needed.
pub(super) struct Carried<T: Send + 'static> {
    work: Option<BoxFuture<'static, T>>,
    /// Whether it goes on when it is dropped: from the first time it is polled, or from the start.
    goes_on: bool,
    /// What becomes of the outcome when nobody takes it.
    left: fn(T) -> BoxFuture<'static, ()>,
    tracker: TaskTracker,
    _counted: TaskTrackerToken,
    runtime: Handle,
}

impl<T: Send + 'static> Carried<T> {
    /// Counted by `tracker` until it has ended. Needs a tokio runtime. `wanted`: it is done even if nobody ever polls it.
    pub(super) fn new(
        tracker: &TaskTracker,
        wanted: bool,
        work: impl Future<Output = T> + Send + 'static,
        left: fn(T) -> BoxFuture<'static, ()>,
    ) -> Self {
        let (tracker, counted) = (tracker.clone(), tracker.token());
        let runtime = Handle::current();
        Self { work: Some(Box::pin(work)), goes_on: wanted, left, tracker, _counted: counted, runtime }
    }
}

impl<T: Send + 'static> Future for Carried<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.goes_on = true;
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Carried<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take().filter(|_| self.goes_on) {
            let left = self.left;
            self.tracker.spawn_on(async move { left(work.await).await }, &self.runtime);
        }
    }
}
