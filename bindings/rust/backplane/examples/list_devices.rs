//! The compute devices of this machine, best first, and which one would be chosen.
use backplane::{Context, LogLevel};

fn main() {
    if let Err(error) = run() {
        eprintln!("{}\n{}", error, error.remedy());
        std::process::exit(1);
    }
}

fn run() -> backplane::Result<()> {
    let warn = |level: LogLevel, text: &str| {
        if level >= LogLevel::Warning {
            eprintln!("{}", text);
        }
    };
    let context = Context::builder().log(warn).build()?;
    for device in context.devices()? {
        println!("{:<12} {:<10} {} {}", device.id, device.backend, device.name, device.warning);
    }
    println!("chosen: {}", context.open("")?.info()?.id);
    Ok(())
}
