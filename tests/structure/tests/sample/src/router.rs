use crate::instance::Instance;

pub struct Router(Instance);

pub fn build() -> Router {
    println!("{}", crate::alias::depth());
    Router(Instance)
}

#[cfg(test)]
mod tests {
    use crate::Router;
}
