//! Backplane for Rust: finds the compute devices of a machine, chooses one, and runs networks on it.
//!
//! ```no_run
//! use backplane::{Context, DType, Graph, Input, Op, Output, Session, Weights};
//!
//! fn main() -> backplane::Result<()> {
//!     let context = Context::new()?;              // searches, judges without running, loads the best
//!     let device = context.open("")?;             // or "discrete", "name=*RTX*", "cpu:0"
//!
//!     let mut graph = Graph::new()?;              // a wrong shape is an error that names the op and the shapes
//!     let x = graph.input("x", DType::F32, &[2, 3])?;
//!     let y = graph.add(Op::RELU, &[x], &[])?;
//!     graph.output(y, "y")?;
//!
//!     let mut session = Session::new(&device, &graph, &Weights::none())?;
//!     let mut y = [0f32; 6];
//!     session.run(&[Input::new("x", &[1f32, -2.0, 3.0, -4.0, 5.0, -6.0])], &mut [Output::new("y", &mut y)], None)?;
//!     println!("{:?}", y);
//!     Ok(())
//! }
//! ```
//!
//! * **Errors** are an [`Error`]: a [`Code`], a sentence that says what was attempted, on what, why it failed and what to do, and what the code asks for
//!   in general ([`Error::remedy`]). Nothing here panics on what a caller, a file or a device does.
//! * **Threads** are as the C header has them: [`Context`], [`Device`], [`Weights`], [`Event`], [`Tensor`] and what was read or made (a `Model`, a
//!   `Transcript`) are `Send` and `Sync`; [`Graph`], [`Session`] and what runs models are `Send` and not `Sync`, for they take one call at a time.
//! * **Lifetimes**: what a handle was made from may be dropped before it.
//! * **Closures** (log, progress, samples, weights) may panic: no panic crosses into the library. One on the calling thread goes on when the call has
//!   returned; one in a log is kept from the library, and that is all.
//!
//! What an op means is in `include/backplane/ops.h`; devices and filters are in `docs/discovery.md`; installing and linking in `docs/rust.md`.
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]

mod cancel;
mod context;
mod device;
mod error;
mod graph;
mod ops;
mod raw;
mod session;
mod tensor;
mod weights;

#[cfg(feature = "models")]
mod model;
#[cfg(feature = "models")]
mod quantize;
#[cfg(feature = "models")]
mod transcriber;
#[cfg(feature = "models")]
mod upscaler;
#[cfg(feature = "models")]
mod weight_file;

pub use cancel::CancelFlag;
pub use context::{Context, ContextBuilder, LogLevel, Probe};
pub use device::{Device, DeviceInfo, DeviceKind, Holder, Ledger};
pub use error::{Code, Error, Result};
pub use graph::{Attribute, Graph, TensorId};
pub use ops::{Attr, DType, Element, Op};
pub use session::{Event, Input, Math, Output, Session};
pub use tensor::Tensor;
pub use weights::{WeightSource, Weights};

#[cfg(feature = "models")]
pub use model::{Model, ModelInfo, ModelInput, ModelSession, Results, ValueInfo};
#[cfg(feature = "models")]
pub use quantize::{QuantizeOptions, QuantizedTensor};
#[cfg(feature = "models")]
pub use transcriber::{
    Decoder, Streaming, Transcriber, TranscriberInfo, TranscriberOptions, Transcript, TranscriptStream, Word,
};
#[cfg(feature = "models")]
pub use upscaler::{UpscaleOptions, UpscaleResult, Upscaler, UpscalerInfo};
#[cfg(feature = "models")]
pub use weight_file::{WeightFile, WeightTensor};

/// The version of the library, "0.1.0".
pub fn version() -> &'static str {
    // SAFETY: a constant of the library.
    unsafe { raw::text_at(backplane_sys::backplane_version()) }
}
