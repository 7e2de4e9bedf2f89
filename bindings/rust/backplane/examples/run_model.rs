//! Runs an ONNX model on ones: run_model MODEL.onnx [DEVICE]. An extent that the file leaves open is taken for 1.
use backplane::{Context, DType, Model, ModelInput, ModelSession};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        eprintln!("usage: run_model MODEL.onnx [DEVICE]");
        std::process::exit(2);
    }
    if let Err(error) = run(&arguments) {
        eprintln!("{}\n{}", error, error.remedy());
        std::process::exit(1);
    }
}

fn run(arguments: &[String]) -> backplane::Result<()> {
    let context = Context::new()?;
    let model = Model::from_onnx(&arguments[0])?;
    let mut session = ModelSession::new(&model, &context, arguments.get(1).map_or("", String::as_str))?;
    let mut given = Vec::new();
    for input in model.inputs()? {
        let dims: Vec<i64> = input.shape.unwrap_or_default().iter().map(|&d| d.max(1)).collect();
        let ones = vec![1f32; dims.iter().product::<i64>() as usize];
        println!("{}: {:?} {:?}", input.name, input.dtype.unwrap_or(DType::F32), dims);
        given.push((input.name, dims, ones));
    }
    let inputs: Vec<ModelInput> = given.iter().map(|(name, dims, ones)| ModelInput::new(name, dims, ones)).collect();
    let results = session.run(&inputs, None)?;
    for output in results.outputs()? {
        let values = results.get::<f32>(&output.name)?;
        println!("{}: {:?} {:?} ...", output.name, output.shape.unwrap_or_default(), &values[..values.len().min(4)]);
    }
    Ok(())
}
