//! Who holds which role now, as the adapters know it.

use super::receiving::Adapters;
use countersign_gate::RoleSource;
use countersign_port::async_trait;

/// The adapters, asked for roles.
#[derive(Debug)]
pub struct AdapterRoles(pub Adapters);

#[async_trait]
impl RoleSource for AdapterRoles {
    async fn roles_now(
        &self,
        platform: &str,
        person: &str,
        of: &[String],
    ) -> Result<Option<Vec<String>>, String> {
        let adapters = self.0.borrow().clone();
        match adapters.iter().find(|adapter| adapter.name == platform) {
            Some(adapter) => adapter.roles_now(person, of).await,
            // The account was taken out of the config: nobody holds a role there any more.
            None => Ok(Some(Vec::new())),
        }
    }
}
