use crate::hall::Hall;

pub struct Roof(Hall);

pub fn build() -> Roof {
    println!("{}", crate::cellar::depth());
    Roof(Hall)
}

#[cfg(test)]
mod tests {
    use crate::Roof;
}
