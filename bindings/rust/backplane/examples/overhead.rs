//! What this crate adds to a run: the smallest graph, run by the C API and by this crate in turns. Prints the medians, in nanoseconds a run.
use backplane::{Context, DType, Graph, Input, Op, Output, Session, Weights};
use backplane_sys as sys;
use std::time::Instant;

const RUNS: u32 = 2000;

fn main() -> backplane::Result<()> {
    let context = Context::new()?;
    let device = context.open(&std::env::args().nth(1).unwrap_or_else(|| "cpu".into()))?;
    device.set_option("threads", "1")?;
    let mut graph = Graph::new()?;
    let x = graph.input("x", DType::F32, &[1])?;
    let y = graph.add(Op::RELU, &[x], &[])?;
    graph.output(y, "y")?;
    let mut session = Session::new(&device, &graph, &Weights::none())?;
    let (x, mut y) = ([1f32], [0f32]);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..101 {
        let start = Instant::now();
        for _ in 0..RUNS {
            session.run(&[Input::new("x", &x)], &mut [Output::new("y", &mut y)], None)?;
        }
        with.push(start.elapsed().as_nanos() as f64 / f64::from(RUNS));
        let input = sys::backplane_bytes { name: "x\0".as_ptr() as *const _, data: x.as_ptr() as *mut _, bytes: 4 };
        let output = sys::backplane_bytes { name: "y\0".as_ptr() as *const _, data: y.as_mut_ptr() as *mut _, bytes: 4 };
        let start = Instant::now();
        for _ in 0..RUNS {
            // SAFETY: texts with their zeros, memory of as many bytes as is said.
            let code = unsafe { session.run_raw(&input, &output) };
            assert_eq!(code, sys::BP_OK);
        }
        without.push(start.elapsed().as_nanos() as f64 / f64::from(RUNS));
    }
    with.sort_by(f64::total_cmp);
    without.sort_by(f64::total_cmp);
    println!("C API {:.0} ns, this crate {:.0} ns a run: {:.0} ns more", without[50], with[50], with[50] - without[50]);
    Ok(())
}
