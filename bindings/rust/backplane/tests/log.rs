//! The log, alone in its process: it sets a variable.
mod support;

use backplane::{Context, DType, LogLevel, Tensor};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

#[test]
fn a_log_is_heard_by_all_that_was_made_and_may_panic() {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    let log = move |level: LogLevel, text: &str| {
        assert!(level <= LogLevel::Error && !text.is_empty());
        count.fetch_add(1, Ordering::SeqCst);
        panic!("a log that panics");
    };
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    // A folder of kernels that is not absolute is not used, which the log is told. There is no other thread yet.
    std::env::set_var("BACKPLANE_CACHE_DIR", "relative");
    let device = Context::builder()
        .module_path(support::modules())
        .skip_default_paths()
        .log(log)
        .build()
        .unwrap()
        .open("cpu")
        .unwrap();
    std::panic::set_hook(before);
    let tensor = Tensor::from_slice(&device, DType::F32, &[2], &[1f32, 2.0]).unwrap();
    drop(device);
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert!(Arc::strong_count(&heard) > 1, "the closure goes while what was made with it lives");
    drop(tensor);
    assert!(heard.load(Ordering::SeqCst) > 0, "nothing was told");
    assert_eq!(Arc::strong_count(&heard), 1, "the closure outlives all that was made with it");
}
