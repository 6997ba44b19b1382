"""Common words of software work in English and Chinese: a query in one language finds documents in the other.

A small, fixed list: each pair is an alternative spelling of one term, no weight of its own. What it does not know is
left to the vectors. Words are lower case; English ones are found in their plain forms too (`reminders`, `tested`).
"""

from __future__ import annotations

from functools import lru_cache

_PAIRS = """
abort 中止|accept 接受 验收|acceptance 验收|access 访问|account 账号 账户|action 动作 操作|adapter 适配器 适配
agent 智能体|alert 告警 提醒|align 对齐|announce 公告|answer 回答|approve 批准 审批|architecture 架构|archive 归档
ask 询问 提问|assign 分配 指派|assistant 助手|attach 附件|audio 音频|audit 审计|author 作者|automatic 自动
avatar 头像|avoid 避免|background 后台 背景|backup 备份|balance 平衡 余额|batch 批量|behaviour 行为|behavior 行为
block 阻塞|blocker 阻塞|board 看板|boot 启动|bootstrap 引导|boundary 边界|branch 分支|break 休息|bridge 桥接
browser 浏览器|bubble 气泡|budget 预算|bug 缺陷 错误|build 构建|button 按钮|cache 缓存|calendar 日历|call 调用
callback 回调|cancel 取消|capability 能力|card 卡片|chain 链路|change 变更 修改|channel 频道 渠道|chat 聊天
check 检查|checklist 清单|clean 清理|client 客户端|clock 时钟|close 关闭|cloud 云端|code 代码|collaborate 协作
collaboration 协作|collapse 折叠|color 颜色|command 命令|comment 评论 注释|commit 提交|communicate 沟通
community 社区|compact 压缩|compare 比较 对比|component 组件|compress 压缩|concurrency 并发|concurrent 并发
confidence 置信度|config 配置|configure 配置|confirm 确认|conflict 冲突|connect 连接|connector 连接器|consensus 共识
consistency 一致性|consistent 一致|context 上下文|contract 契约|conversation 对话 会话|convert 转换|copy 复制
correct 纠正 正确|cost 成本|count 计数|crash 崩溃|create 创建|cross 跨|culture 文化|custom 自定义|customize 自定义
daily 每日|dashboard 仪表盘 看板|data 数据|database 数据库|dead 死|debate 辩论|debt 债务 技术债|debug 调试
decide 决定|decision 决策|default 默认|delete 删除|deliver 交付 投递|delivery 交付|dependency 依赖|deploy 部署
deployment 部署|design 设计|desktop 桌面|detail 细节 详情|detect 检测|develop 开发|developer 开发者|device 设备
dialog 对话框|diff 差异|difference 差异|directory 目录|discovery 发现|discuss 讨论|discussion 讨论|display 显示
distribute 分发|distribution 分发|document 文档|documentation 文档|download 下载|draft 草稿|drag 拖拽|drift 漂移
duplicate 重复|edit 编辑|editor 编辑器|embed 嵌入|empty 空|enable 启用|encrypt 加密|end 结束|engine 引擎
environment 环境|error 错误 报错|evaluate 评估|evaluation 评估 评测|event 事件|evidence 证据|evolve 进化
evolution 进化 演化|example 示例 例子|execute 执行|experience 体验 经验|experiment 实验|expire 过期|explore 探索
export 导出|extend 扩展|extension 扩展|external 外部|fail 失败|failure 失败|fallback 降级 兜底|fake 假
feature 功能 特性|feedback 反馈|fetch 拉取|file 文件|filter 过滤 筛选|find 查找|fix 修复|flow 流程|folder 文件夹
font 字体|forget 忘记 遗忘|format 格式|framework 框架|freeze 冻结|frontend 前端|frontmatter 元数据|game 游戏
gate 门禁|gateway 网关|generate 生成|goal 目标|governance 治理|graph 图谱|group 群组 群聊|guard 守护|guardian 守护
guide 指南 引导|guideline 准则|handle 处理|handoff 交接 接力|hang 卡死|hardware 硬件|health 健康|heartbeat 心跳
help 帮助|hidden 隐藏|history 历史|hook 钩子|hot 热|human 人类|idea 想法|identity 身份|idle 空闲|image 图片 图像
impersonate 冒充|import 导入|improve 改进|inbox 收件箱|incident 事故|index 索引|inject 注入|injection 注入
input 输入|install 安装|instruction 指令|integrate 集成|integration 集成|interact 交互|interaction 交互
interface 接口 界面|internal 内部|interrupt 中断 打断|invite 邀请|invocation 调用|invoke 调用|isolate 隔离
isolation 隔离|issue 问题|journey 旅程|judge 判断|judgement 判断|keep 保持|key 密钥|keyboard 键盘|knowledge 知识
label 标签|language 语言|latency 延迟|layer 层|layout 布局|lead 负责人|leak 泄漏|learn 学习|lesson 教训 经验
library 库|license 许可|lifecycle 生命周期|limit 限制|link 链接|list 列表|load 加载|local 本地|lock 锁|log 日志
login 登录|loop 循环 闭环|lose 丢失|lost 丢失|maintain 维护|manage 管理|management 管理|map 地图 映射|market 市场
mechanism 机制|memory 记忆 内存|mention 提及|menu 菜单|merge 合并 合入|message 消息|metadata 元数据|method 方法
methodology 方法论|metric 指标|migrate 迁移|migration 迁移|missing 缺失|mission 任务|mobile 手机 移动端|mode 模式
model 模型|monitor 监控|multi 多|music 音乐|name 名字 名称|navigate 导航|navigation 导航|network 网络
notification 通知|notify 通知|observability 可观测性 可观测|observe 观察|offline 离线|onboarding 入门 引导
operate 运营|operation 运营 操作|optimize 优化|optimization 优化|orchestrate 编排|orchestration 编排|order 顺序
output 输出|overload 过载|owner 负责人|package 打包|page 页面|panel 面板|parallel 并行|parameter 参数|parse 解析
path 路径|pattern 模式|pause 暂停|performance 性能|permission 权限|persist 持久化|persistence 持久化
personality 性格 人格|phone 手机|picture 图片|pipeline 流水线|plan 计划 规划|platform 平台|play 播放|playback 播放
plugin 插件|policy 策略|poll 轮询 投票|portable 可移植|post 发帖|prevent 防止|preview 预览|principle 原则
priority 优先级|privacy 隐私|private 私密 私聊|probe 探针|process 进程 流程|produce 生产|profile 档案 画像
progress 进度|project 项目|prompt 提示词|protect 保护|protocol 协议|proposal 提案|prove 证明|provider 供应商
proxy 代理|publish 发布|pull 拉取|push 推送|quality 质量|queue 队列 排队|quick 快速|quota 配额|quote 引用
random 随机|rank 排序|rate 速率|read 已读 阅读|reader 读者|real 真实|reason 原因|recall 召回|receive 接收
record 记录|recover 恢复|recovery 恢复|redact 脱敏|redaction 脱敏|refactor 重构|reference 引用 参考|reflect 反思
reflection 反思|register 注册|registry 注册表|regression 回归|reject 拒绝|relationship 关系|release 发布
reliable 可靠|reload 重载|remember 记住|remind 提醒|reminder 提醒|remote 远程|remove 移除 删除|rename 重命名
render 渲染|repeat 重复|reply 回复|report 报告|repository 仓库|request 请求|requirement 需求|research 研究 调研
resolve 解决|resource 资源|respond 响应|response 响应 回复|rest 休息|restart 重启|restore 恢复|result 结果
resume 恢复|retry 重试|review 审查 评审|reward 奖励|rich 富文本|risk 风险|role 角色|rollback 回滚|root 根因
route 路由|routing 路由|rule 规则|runtime 运行时|safe 安全|safety 安全|save 保存|scan 扫描|schedule 调度 定时
scheduler 调度器|schema 模式|score 评分|screen 屏幕|screenshot 截图|script 脚本|scroll 滚动|search 搜索 检索
secret 密钥 秘密|security 安全|select 选择|send 发送|sentence 句子|server 服务器|service 服务|session 会话
setting 设置|share 共享 分享|shared 共享|shortcut 快捷键|show 展示|sidebar 侧边栏|signal 信号|silent 静默|skill 技能
skip 跳过|slow 慢|snapshot 快照|social 社交|sound 声音|source 来源|speak 说话|speaker 说话人|speech 语音|split 拆分
stale 过期|standard 标准|start 启动 开始|startup 启动|state 状态|status 状态|step 步骤|stop 停止|storage 存储
store 存储|strategy 策略|stream 流式|streaming 流式|structured 结构化|stuck 卡住|style 风格|subscribe 订阅
summary 摘要|support 支持|survey 调查|switch 切换|sync 同步|synchronize 同步|synthesis 合成|system 系统|tab 标签页
table 表格|tag 标签|target 目标|task 任务|team 团队|template 模板|terminal 终端|test 测试|text 文本|theme 主题
thread 线程|time 时间|timeout 超时|timer 定时器|token 令牌|tool 工具|tour 导览|trace 追踪 溯源|track 追踪 跟踪
training 训练|transaction 事务|transfer 转移|transparent 透明|tree 树|triage 分诊|trigger 触发|trust 信任|truth 真相
tutorial 教程|type 类型|uncertain 不确定|understand 理解|unify 统一|unified 统一|unread 未读|update 更新
upgrade 升级|upload 上传|usage 用量 使用|user 用户|validate 校验 验证|value 价值|verify 验证|version 版本|video 视频
view 视图|violation 违规|visibility 可见性|vision 愿景|visual 视觉|visualization 可视化|voice 语音 声音|vote 投票
wait 等待|wake 唤醒|warning 警告|weather 天气|web 网页|whisper 悄悄话 私聊|whitelist 白名单|window 窗口|work 工作
worker 工人|workflow 工作流|workspace 工作区|world 世界|worry 担心|worktree 工作树|write 写入|wrong 错误
"""

_COMPOUNDS = {
    "open source": "开源",
    "long term": "长期",
    "root cause": "根因",
    "real time": "实时",
    "end to end": "端到端",
    "dark mode": "深色模式",
    "rate limit": "限流",
    "single source": "真相源",
    "race condition": "竞态",
    "technical debt": "技术债",
    "hot reload": "热重载",
    "group chat": "群聊",
    "dead letter": "死信",
    "command line": "命令行",
    "read only": "只读",
}

TO_CHINESE: dict[str, tuple[str, ...]] = {
    word: tuple(others) for word, *others in (entry.split() for entry in _PAIRS.replace("\n", "|").split("|") if entry)
}
"""English word -> Chinese words."""


def _reverse() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for word, others in [*TO_CHINESE.items(), *((text, (other,)) for text, other in _COMPOUNDS.items())]:
        for other in others:
            found.setdefault(other, []).append(word)
    return {other: tuple(words[:3]) for other, words in found.items() if len(other) > 1}


TO_ENGLISH: dict[str, tuple[str, ...]] = _reverse()
"""Chinese word of two letters or more -> English words, at most three."""

_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "rs")


@lru_cache(maxsize=4096)
def chinese(word: str) -> tuple[str, ...]:
    """Return the Chinese words for an English one in any of its forms; empty when the list does not know it."""
    plain = word.lower()
    forms = [plain, *(plain.removesuffix(end) for end in _ENDINGS if plain.endswith(end) and len(plain) > len(end) + 2)]
    forms += [f"{form}e" for form in forms[1:]]
    return next((TO_CHINESE[form] for form in forms if form in TO_CHINESE), ())


def compound(first: str, second: str) -> str | None:
    """Return the Chinese word for two English ones in a row, or null."""
    return _COMPOUNDS.get(f"{first.lower()} {second.lower()}")
