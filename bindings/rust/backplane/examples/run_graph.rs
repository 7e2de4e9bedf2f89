//! Builds a layer, relu(x w), and runs it on the best device, or the one that is named.
use backplane::{Context, DType, Graph, Input, Op, Output, Session, Weights};
use std::collections::BTreeMap;

fn main() {
    if let Err(error) = run(&std::env::args().nth(1).unwrap_or_default()) {
        eprintln!("{}\n{}", error, error.remedy());
        std::process::exit(1);
    }
}

fn run(filter: &str) -> backplane::Result<()> {
    let context = Context::new()?;
    let device = context.open(filter)?;
    println!("on {}", device.info()?.name);

    let mut graph = Graph::new()?;
    let x = graph.input("x", DType::F32, &[2, 3])?;
    let w = graph.weight("w", DType::F32, &[3, 2])?;
    let product = graph.add(Op::MATMUL, &[x, w], &[])?;
    let y = graph.add(Op::RELU, &[product], &[])?;
    graph.output(y, "y")?;

    let mut weights = BTreeMap::new();
    weights.insert("w".to_string(), vec![1f32, 0.0, 0.0, 1.0, 1.0, -9.0]);
    let mut session = Session::new(&device, &graph, &Weights::new(weights)?)?;
    let mut y = [0f32; 4];
    session.run(&[Input::new("x", &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])], &mut [Output::new("y", &mut y)], None)?;
    println!("{:?}", y); // [4.0, 0.0, 10.0, 0.0]
    Ok(())
}
