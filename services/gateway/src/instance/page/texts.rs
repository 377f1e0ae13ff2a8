//! The texts of the pages. `{link}` is the platform's address.

use super::Notice;
use crate::html::Language;

/// The texts of a page.
pub(super) struct Texts {
    pub(super) title: &'static str,
    /// The state in a word or two.
    pub(super) state: &'static str,
    pub(super) body: &'static [&'static str],
}

/// The page that asks whether to open the instance: state, title, text and button.
pub(super) fn open(language: Language) -> (&'static str, &'static str, &'static str, &'static str) {
    match language {
        Language::English => (
            "Opening",
            "Open the instance",
            "This address opens an instance once, for the person who was given it.",
            "Open",
        ),
        Language::Chinese => {
            ("正在打开", "打开实例", "此地址只能打开实例一次，仅供获得该地址的人使用。", "打开")
        }
    }
}

pub(super) fn of(notice: Notice, language: Language) -> Texts {
    match language {
        Language::English => english(notice),
        Language::Chinese => chinese(notice),
    }
}

fn english(notice: Notice) -> Texts {
    let (state, title, body): (_, _, &[_]) = match notice {
        Notice::NotOpened => (
            "Not open",
            "This instance is not open to you",
            &[
                "Sign in at {link}, find your instance and choose Open. An address like this one cannot be passed on.",
                "If the instance was open in this browser before, its session has ended.",
            ],
        ),
        Notice::Gone => (
            "Gone",
            "This address no longer exists",
            &[
                "The instance was deleted, or this port is no longer public. Files on a storage stay until the storage \
                 is deleted.",
                "Your instances are at {link}.",
            ],
        ),
        Notice::Queued(_) => (
            "Waiting",
            "The instance waits for a free unit",
            &[
                "All units of its GPU specification are in use. It starts as soon as one is free, and this page then \
                 opens it.",
                "To stop waiting, stop the instance at {link}.",
            ],
        ),
        Notice::Starting => (
            "Starting",
            "The instance is starting",
            &["This page opens it as soon as it is ready. A large image can take several minutes to load."],
        ),
        Notice::Stopping => (
            "Stopping",
            "The instance is stopping",
            &["When it has stopped, you can start it again at {link}."],
        ),
        Notice::Stopped => (
            "Stopped",
            "The instance is stopped",
            &["Start it at {link}. This page opens it as soon as it is ready."],
        ),
        Notice::NotResponding => (
            "No response",
            "The instance does not respond",
            &[
                "It runs, but accepts no connections: the program in it may be loading or restarting. This page opens \
                 it as soon as it responds.",
                "If that does not happen, read its log at {link}.",
            ],
        ),
        Notice::Interrupted => (
            "Interrupted",
            "The connection was interrupted",
            &[
                "The instance closed the connection before a response arrived. The request may have taken effect: check \
                 that before you send it again.",
            ],
        ),
        Notice::SignIn => (
            "Sign in",
            "Sign in to open this link",
            &["A link for one person opens only to that person. Sign in at {link}, and open it again."],
        ),
        Notice::NoLink => (
            "Not found",
            "This link opens nothing",
            &[
                "It has ended, or it is for another person. You can sign in with another account at {link}, and open it \
                 again.",
            ],
        ),
    };
    Texts { title, state, body }
}

fn chinese(notice: Notice) -> Texts {
    let (state, title, body): (_, _, &[_]) = match notice {
        Notice::NotOpened => (
            "未打开",
            "您尚未打开此实例",
            &[
                "请在 {link} 登录，找到您的实例并选择“打开”。此地址无法直接转给他人使用。",
                "如果之前在此浏览器中打开过该实例，则会话已结束。",
            ],
        ),
        Notice::Gone => (
            "已不存在",
            "此地址已不存在",
            &[
                "实例已被删除，或此端口不再公开。存储中的文件会一直保留，直到存储被删除。",
                "您的实例在 {link}。",
            ],
        ),
        Notice::Queued(_) => (
            "排队中",
            "实例正在等待空闲的 GPU 单元",
            &[
                "该 GPU 规格的所有单元都在使用中。一旦有空闲单元，实例就会启动，本页面随后会自动打开它。",
                "如不想继续等待，请在 {link} 停止实例。",
            ],
        ),
        Notice::Starting => (
            "正在启动",
            "实例正在启动",
            &["准备就绪后，本页面会自动打开实例。较大的镜像可能需要几分钟才能加载完成。"],
        ),
        Notice::Stopping => ("正在停止", "实例正在停止", &["停止完成后，您可以在 {link} 重新启动它。"]),
        Notice::Stopped => {
            ("已停止", "实例已停止", &["请在 {link} 启动实例。准备就绪后，本页面会自动打开它。"])
        }
        Notice::NotResponding => (
            "无响应",
            "实例没有响应",
            &[
                "实例正在运行，但不接受连接：其中的程序可能正在加载或重新启动。一旦有响应，本页面会自动打开它。",
                "如果一直没有响应，请在 {link} 查看日志。",
            ],
        ),
        Notice::Interrupted => (
            "已中断",
            "连接已中断",
            &["实例在返回响应之前关闭了连接。请求可能已经生效：再次发送之前请先确认。"],
        ),
        Notice::SignIn => (
            "请登录",
            "请登录后打开此链接",
            &["指定给个人的链接只能由本人打开。请在 {link} 登录，然后重新打开链接。"],
        ),
        Notice::NoLink => (
            "未找到",
            "此链接无法打开任何内容",
            &["链接已失效，或者是给其他人的。您可以在 {link} 使用其他账户登录，然后重新打开链接。"],
        ),
    };
    Texts { title, state, body }
}
