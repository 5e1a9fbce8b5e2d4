// A provider of OpenID Connect on a port of this machine: `node provider.mjs PORT CALLBACK…`. Any password is taken.
// POST /_test sets who there is, and how the provider lies: it then signs another token than it should.
import { createSecretKey, generateKeyPairSync } from "node:crypto";
import { pathToFileURL } from "node:url";

const modules = process.env.OIDC_MODULES;
const load = (path) => import(pathToFileURL(`${modules}/node_modules/${path}`).href);
const { default: Provider } = await load("oidc-provider/lib/index.js");
const { SignJWT, UnsecuredJWT, decodeJwt, exportJWK } = await load("jose/dist/node/esm/index.js");

const [port, ...callbacks] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const SECRET = "the-secret-of-the-client-of-the-tests";

async function keyPair(kid) {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: "sig", alg: "RS256" } };
}

const own = await keyPair("own");
const second = await keyPair("second");
const strange = await keyPair("own"); // somebody else's, under the same name
let world = { accounts: {}, lie: "" };

const provider = new Provider(issuer, {
  clients: [{ client_id: "lochan", client_secret: SECRET, redirect_uris: callbacks, grant_types: ["authorization_code"] }],
  jwks: { keys: [{ ...(await exportJWK(own.privateKey)), kid: "own", use: "sig", alg: "RS256" }] },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  pkce: { required: () => true },
  cookies: { keys: ["of-a-test"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...world.accounts[id] }) }),
});

async function forged(token) {
  const claims = decodeJwt(token);
  const signed = (changed, pair = own, kid = pair.kid) =>
    new SignJWT({ ...claims, ...changed }).setProtectedHeader({ alg: "RS256", kid }).sign(pair.privateKey);
  const now = Math.floor(Date.now() / 1000);
  switch (world.lie) {
    case "none": return new UnsecuredJWT(claims).encode();
    case "hmac": return new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "own" }).sign(createSecretKey(Buffer.from(SECRET)));
    case "strange key": return signed({}, strange);
    case "rotated": return signed({}, second);
    case "nonce": return signed({ nonce: "another" });
    case "no nonce": return signed({ nonce: undefined });
    case "audience": return signed({ aud: "another-client" });
    case "audiences": return signed({ aud: ["lochan", "another-client"], azp: "another-client" });
    case "issuer": return signed({ iss: "https://elsewhere.example" });
    case "expired": return signed({ iat: now - 7200, exp: now - 3600 });
    case "subject": return signed({ sub: 7 });
    case "garbage": return "not.a.token";
    case "no token": return undefined;
    default: return token;
  }
}

provider.use(async (ctx, next) => {
  if (ctx.path === "/_test" && ctx.method === "POST") {
    let text = "";
    for await (const piece of ctx.req) text += piece;
    world = { ...world, ...JSON.parse(text) };
    ctx.status = 204;
    return;
  }
  if (world.lie === "down") {
    ctx.status = 500;
    ctx.body = "down";
    return;
  }
  await next();
  if (ctx.path === "/token" && ctx.body?.id_token) ctx.body = { ...ctx.body, id_token: await forged(ctx.body.id_token) };
  if (ctx.path === "/jwks" && world.lie === "rotated") ctx.body = { keys: [second.jwk] };
  if (ctx.path === "/me" && world.lie === "userinfo") ctx.body = { ...ctx.body, sub: "somebody-else" };
});
provider.listen(Number(port), "127.0.0.1");
