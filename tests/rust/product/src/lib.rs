//! A product that is a library with Backplane inside: programs load it, and see its own function alone.
use backplane::{Context, DType, Graph, Input, Op, Output, Session, Weights};
use std::ffi::CStr;
use std::os::raw::c_char;
use std::panic::catch_unwind;

fn relu(device: &str, from: &[f32], to: &mut [f32]) -> backplane::Result<()> {
    let device = Context::new()?.open(device)?;
    let mut graph = Graph::new()?;
    let x = graph.input("x", DType::F32, &[from.len() as i64])?;
    let y = graph.add(Op::RELU, &[x], &[])?;
    graph.output(y, "y")?;
    let mut session = Session::new(&device, &graph, &Weights::none())?;
    session.run(&[Input::new("x", from)], &mut [Output::new("y", to)], None)
}

/// 0: done; 1: an error, which is printed.
///
/// # Safety
/// `device` ends with a zero, `from` and `to` have `count` numbers each.
#[no_mangle]
pub unsafe extern "C" fn product_relu(device: *const c_char, from: *const f32, to: *mut f32, count: usize) -> i32 {
    let done = catch_unwind(|| {
        let device = CStr::from_ptr(device).to_string_lossy();
        let (from, to) = (std::slice::from_raw_parts(from, count), std::slice::from_raw_parts_mut(to, count));
        relu(&device, from, to)
    });
    match done {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            eprintln!("{}\n{}", error, error.remedy());
            1
        }
        Err(_) => 1,
    }
}
