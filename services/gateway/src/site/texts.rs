//! The texts of the start page.

use crate::html::Language;

/// The texts of the start page.
pub(super) struct Texts {
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) guarantees: &'static str,
    pub(super) sign_in_title: &'static str,
    pub(super) sign_in: &'static str,
    pub(super) email: &'static str,
    pub(super) password: &'static str,
    pub(super) call: &'static str,
    pub(super) links_title: &'static str,
    pub(super) api_page: &'static str,
    pub(super) about_api_page: &'static str,
    pub(super) about_document: &'static str,
}

pub(super) fn of(language: Language) -> &'static Texts {
    match language {
        Language::English => &ENGLISH,
        Language::Chinese => &CHINESE,
    }
}

const ENGLISH: Texts = Texts {
    title: "A GPU cloud for people who draw, animate and train",
    what: "Choose a GPU, a version of a service such as Stable Diffusion WebUI, and a storage. Start it, and work at an \
           address of your own.",
    guarantees: "A GPU in stock is a GPU that is really there. You pay for the seconds that an instance runs, and your \
                 files stay when it stops.",
    sign_in_title: "Sign in with the API",
    sign_in: "An administrator has given you an e-mail address and a password. The answer has an access token, which \
              is valid for ten minutes, and a refresh token:",
    email: "you@example.com",
    password: "your password",
    call: "Send the access token with every call. These are your instances:",
    links_title: "More",
    api_page: "API reference",
    about_api_page: "All operations, to read and to try.",
    about_document: "The same as an OpenAPI 3.1 document, from which clients are generated.",
};

const CHINESE: Texts = Texts {
    title: "为绘画、动画和模型训练打造的 GPU 云",
    what: "选择 GPU、服务版本（例如 Stable Diffusion WebUI）和存储，启动后即可在您专属的地址上工作。",
    guarantees: "库存中显示的 GPU 都真实可用。您只需为实例运行的秒数付费，停止后文件依然保留。",
    sign_in_title: "通过 API 登录",
    sign_in: "使用管理员提供给您的电子邮箱和密码。响应中包含有效期为十分钟的访问令牌和一个刷新令牌：",
    email: "you@example.com",
    password: "您的密码",
    call: "每次调用都要携带访问令牌。以下命令列出您的实例：",
    links_title: "更多",
    api_page: "API 参考",
    about_api_page: "浏览并试用所有操作。",
    about_document: "同样的内容，采用 OpenAPI 3.1 格式，可用于生成客户端。",
};
