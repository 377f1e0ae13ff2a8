// node oidc-provider.mjs PORT: an OpenID provider for tests, with the library's own login pages. Any login is accepted.
import { Provider } from 'oidc-provider';

const port = Number(process.argv[2]);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'atelier',
    client_secret: 'dev-secret',
    redirect_uris: ['http://atelier.test/v1/sign-in/corp/callback'],
    grant_types: ['authorization_code'],
    response_types: ['code'],
  }],
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  cookies: { keys: ['tests-only'] },
  async findAccount(_, id) {
    const claims = { sub: id, email: `${id}@example.test`, email_verified: true, name: id };
    return { accountId: id, claims: async () => claims };
  },
});
provider.listen(port, '127.0.0.1');
